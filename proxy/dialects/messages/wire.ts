/**
 * The messages API as the gateway writes it: the vendor's own types, so that a misspelled field does not compile. Types
 * only. Blocks, tools and choices that pass as they came are `Fields` beside the typed ones.
 */
import type * as Beta from '@anthropic-ai/sdk/resources/beta/messages/messages'
import type * as Api from '@anthropic-ai/sdk/resources/messages/messages'
import type { APIErrorObject, ErrorResponse } from '@anthropic-ai/sdk/resources/shared'
import type { Fields } from '../core/json/value.ts'

/** An optional field may be undefined, because JSON drops it. */
type Written<T> = { [K in keyof T]: T extends Record<K, T[K]> ? T[K] : T[K] | undefined }
/** The gateway leaves out the fields `K` where it has no value for them, and the API writes null. */
type Without<T, K extends keyof T> = Omit<T, K> & { [P in K]?: T[P] | undefined }

// --- A request --------------------------------------------------------------------------------------------------------

export type CacheControl = Api.CacheControlEphemeral
export type TextParam = Written<Api.TextBlockParam>
export type ImageParam = Written<Api.ImageBlockParam>
export type DocumentParam = Written<Api.DocumentBlockParam>
export type ToolUseParam = Api.ToolUseBlockParam
export type ThinkingParam = Api.ThinkingBlockParam | Api.RedactedThinkingBlockParam
export type ToolResultParam = Written<Omit<Api.ToolResultBlockParam, 'content'>> & {
  content: string | (UserParam | Fields)[] | undefined
}
export type UserParam = TextParam | ImageParam | DocumentParam
export type BlockParam = UserParam | ToolUseParam | ThinkingParam | ToolResultParam | Fields
export type MessageParam = Pick<Api.MessageParam, 'role'> & { content: string | BlockParam[] }

/** The schema is the client's. */
export type ToolParam = Written<Omit<Api.Tool, 'input_schema'>> & { input_schema: Fields }
export type WebSearchParam = Written<Omit<Api.WebSearchTool20250305, 'user_location'>> & {
  user_location: Written<Api.UserLocation> | undefined
}
export type ToolChoiceParam = Api.ToolChoice
export type OneByOne = Pick<Api.ToolChoiceAuto, 'disable_parallel_tool_use'>
export type Thinking = Api.ThinkingConfigParam
export type Level = NonNullable<Api.OutputConfig['effort']>
export type OutputFormat = Api.JSONOutputFormat

type Retyped = 'messages' | 'system' | 'tools' | 'tool_choice' | 'output_config'
/** Of earlier versions of the API: only older models accept it, and the SDK has dropped it. */
export type Sampling = { temperature?: number; top_p?: number; top_k?: number }
export type RequestBody = Sampling &
  Written<Omit<Api.MessageCreateParamsBase, Retyped>> & {
    messages: MessageParam[]
    system: (TextParam | Fields)[] | undefined
    tools?: (ToolParam | WebSearchParam | Fields)[]
    tool_choice?: ToolChoiceParam | Fields | undefined
    output_config: Written<Api.OutputConfig> | undefined
  }

// --- An answer --------------------------------------------------------------------------------------------------------

export type WebCitation = Api.CitationsWebSearchResultLocation
export type Citation = WebCitation | Fields
export type TextBlock = Omit<Api.TextBlock, 'citations'> & { citations?: Citation[] | undefined }
export type ThinkingBlock = Api.ThinkingBlock
export type RedactedThinkingBlock = Api.RedactedThinkingBlock
export type ToolUseBlock = Without<Api.ToolUseBlock, 'caller'>
export type OwnBlock = TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock
export type Block = OwnBlock | Fields

/** `compaction` is of a beta. */
export type StopReason = Beta.BetaStopReason
export type Stop = Pick<Api.Message, 'stop_sequence' | 'stop_details'> & { stop_reason: StopReason | null }
/** Also that of `message_delta`, in which the gateway repeats all counts and the tier. */
export type MessageUsage = Without<Api.Usage, Exclude<keyof Api.Usage, 'input_tokens' | 'output_tokens'>>
export type Message = Omit<Api.Message, 'content' | 'usage' | keyof Stop> &
  Stop & { content: Block[]; usage: MessageUsage }

export type CompactionStart = Pick<Beta.BetaCompactionBlock, 'type' | 'content'>
type CompactionDelta = Fields & Pick<Beta.BetaCompactionContentBlockDelta, 'type'>
/** Its citation is a `Citation`, or the upstream's own. */
type CitationsDelta = Omit<Api.CitationsDelta, 'citation'> & { citation: unknown }
export type Delta = Exclude<Api.RawContentBlockDelta, Api.CitationsDelta> | CitationsDelta | CompactionDelta
/** The JSON of a delta before its text, which is its last field. */
type DeltaStart<D extends Api.RawContentBlockDelta> =
  `{"type":"${D['type']}","${Exclude<keyof D, 'type'> & string}":`
export type TextDeltaStart = DeltaStart<Api.TextDelta>
export type ThinkingDeltaStart = DeltaStart<Api.ThinkingDelta>
export type InputDeltaStart = DeltaStart<Api.InputJSONDelta>

type EventOf<Start, Content, End> =
  | (Pick<Api.RawMessageStartEvent, 'type'> & { message: Start })
  | (Pick<Api.RawContentBlockStartEvent, 'type' | 'index'> & { content_block: Content })
  | (Pick<Api.RawContentBlockDeltaEvent, 'type' | 'index'> & { delta: Delta })
  | Api.RawContentBlockStopEvent
  | (Pick<Api.RawMessageDeltaEvent, 'type'> & End)
  | Api.RawMessageStopEvent
export type StreamEvent = EventOf<Message, Block, { delta: Stop; usage: MessageUsage }>
/** The API's names of fields, with an upstream's values. */
type Passed<T> = { [K in keyof T]?: unknown }
type PassedEnd = Omit<Beta.BetaRawMessageDeltaEvent, 'type' | 'delta'>
export type PassedEvent = EventOf<
  Passed<Message>,
  Fields,
  Passed<PassedEnd> & { delta: Passed<Beta.BetaRawMessageDeltaEvent['delta']> }
>

/** `type` is that of the error catalogue, which has more than the SDK; `code`, `param` and `details` are the gateway's. */
export type ErrorBody = Omit<ErrorResponse, 'error'> & {
  error: Pick<APIErrorObject, 'message'> & {
    type: string
    code: string
    param: string | undefined
    details: Fields | undefined
  }
}
export type TokenCount = Api.MessageTokensCount
