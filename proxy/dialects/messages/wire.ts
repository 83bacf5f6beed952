/**
 * What the gateway writes in the messages API: the vendor's own types, so that a misspelled field does not compile. Types
 * only. Fields: a block, tool, choice or citation as a client or an upstream wrote it.
 */
import type * as Beta from '@anthropic-ai/sdk/resources/beta/messages/messages'
import type * as Api from '@anthropic-ai/sdk/resources/messages/messages'
import type { APIErrorObject, ErrorResponse } from '@anthropic-ai/sdk/resources/shared'
import type { Fields } from '../core/json/value.ts'
import type { FieldsOf, Sparse, With } from '../core/json/wire.ts'

// --- A request --------------------------------------------------------------------------------------------------------

export type Request = Sampling &
  Sparse<
    With<
      Api.MessageCreateParamsBase,
      {
        messages: MessageParam[]
        system?: (TextParam | Fields)[]
        tools?: (ToolParam | WebSearchParam | Fields)[]
        tool_choice?: ToolChoiceParam | Fields
      }
    >
  >
/** For older models. The SDK no longer has these fields. */
export type Sampling = { temperature?: number; top_p?: number; top_k?: number }
export type Thinking = Api.ThinkingConfigParam
export type Level = NonNullable<Api.OutputConfig['effort']>
export type OutputFormat = Api.JSONOutputFormat

export type MessageParam = Pick<Api.MessageParam, 'role'> & { content: string | BlockParam[] }
export type BlockParam = UserParam | ToolUseParam | ThinkingParam | ToolResultParam | Fields
export type UserParam = TextParam | ImageParam | DocumentParam
export type TextParam = Sparse<Api.TextBlockParam>
export type ImageParam = Sparse<Api.ImageBlockParam>
export type DocumentParam = Sparse<Api.DocumentBlockParam>
export type ToolUseParam = Api.ToolUseBlockParam
export type ThinkingParam = Api.ThinkingBlockParam | Api.RedactedThinkingBlockParam
export type ToolResultParam = Sparse<
  With<Api.ToolResultBlockParam, { content?: string | (UserParam | Fields)[] }>
>
export type CacheControl = Sparse<Api.CacheControlEphemeral>

/** The schema is the client's. */
export type ToolParam = Sparse<With<Api.Tool, { input_schema: Fields }>>
export type WebSearchParam = Sparse<Api.WebSearchTool20250305>
export type ToolChoiceParam = Api.ToolChoice
export type OneByOne = Pick<Api.ToolChoiceAuto, 'disable_parallel_tool_use'>

// --- An answer --------------------------------------------------------------------------------------------------------

export type Message = With<Api.Message, Stop & { content: Block[]; usage: Usage }>
/** The SDK has the reason `compaction` in its beta types only. */
export type Stop = With<
  Pick<Api.Message, 'stop_sequence' | 'stop_details'>,
  { stop_reason: StopReason | null }
>
export type StopReason = Beta.BetaStopReason
/** Without counts that no upstream reported. The API writes null. */
export type Usage = Pick<Api.Usage, 'input_tokens' | 'output_tokens'> & Partial<Api.Usage>

export type Block = OwnBlock | Fields
export type OwnBlock = TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock
/** Without empty citations. The API writes null. */
export type TextBlock = Sparse<With<Api.TextBlock, { citations?: Citation[] }>>
export type Citation = WebCitation | Fields
export type WebCitation = Api.CitationsWebSearchResultLocation
export type ThinkingBlock = Api.ThinkingBlock
export type RedactedThinkingBlock = Api.RedactedThinkingBlock
/** Without a caller, which only the vendor's own tools need. */
export type ToolUseBlock = Omit<Api.ToolUseBlock, 'caller'>
export type CompactionStart = Pick<Beta.BetaCompactionBlock, 'type' | 'content'>

// --- A stream ---------------------------------------------------------------------------------------------------------

export type StreamEvent = EventOf<Message, Block, { delta: Stop; usage: Usage }>
/** An event made of an upstream's answer, with its values. */
export type PassedEvent = EventOf<FieldsOf<Message>, Fields, PassedEnd>
type PassedEnd = FieldsOf<End> & { delta: FieldsOf<End['delta']> }
type End = Omit<Beta.BetaRawMessageDeltaEvent, 'type'>

type EventOf<Start, Content, End> =
  | With<Api.RawMessageStartEvent, { message: Start }>
  | With<Api.RawContentBlockStartEvent, { content_block: Content }>
  | With<Api.RawContentBlockDeltaEvent, { delta: Delta }>
  | Api.RawContentBlockStopEvent
  | With<Api.RawMessageDeltaEvent, End>
  | Api.RawMessageStopEvent

export type Delta = TextDelta | Api.SignatureDelta | CitationsDelta | CompactionDelta
type TextDelta = Api.TextDelta | Api.ThinkingDelta | Api.InputJSONDelta
/** The citation is a `Citation`, or the upstream's. */
type CitationsDelta = With<Api.CitationsDelta, { citation: unknown }>
type CompactionDelta = Fields & Pick<Beta.BetaCompactionContentBlockDelta, 'type'>
/** The JSON of a text delta before its text, which is its last field. */
export type DeltaStart = StartOf<TextDelta>
type StartOf<D> = D extends TextDelta
  ? `{"type":"${D['type']}","${Exclude<keyof D, 'type'> & string}":`
  : never

// --- Other answers ----------------------------------------------------------------------------------------------------

/** `type` is a word of the error catalogue, which has more than the SDK. */
export type ErrorBody = With<
  ErrorResponse,
  { error: With<APIErrorObject, { type: string } & OwnErrorFields> }
>
/** The gateway's. */
type OwnErrorFields = { code: string; param: string | undefined; details: Fields | undefined }
export type TokenCount = Api.MessageTokensCount
