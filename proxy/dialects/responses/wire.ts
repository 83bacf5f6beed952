/**
 * The objects that Sluice writes in the responses API: the SDK's types, and fields that the SDK lacks. Types only.
 * Fields: an object that passes as its vendor or client wrote it. In a union with Fields, a literal needs `satisfies`,
 * because every object is Fields.
 */
import type * as api from 'openai/resources/responses/responses'
import type { Fields } from '../core/json/value.ts'
import type { Sparse, With } from '../core/json/wire.ts'

// --- Requests ---------------------------------------------------------------------------------------------------------

export type Request = Sparse<
  With<
    api.ResponseCreateParamsBase,
    {
      model: string
      input: (InputItem | Fields)[]
      store: boolean
      text?: TextSettings
      tools?: (Tool | Fields)[]
      tool_choice?: ToolChoice | Fields
      /** Upstreams have tiers of their own. */
      service_tier?: string
    }
  >
>

/** Upstreams have levels of their own. */
export type TextSettings = Sparse<With<api.ResponseTextConfig, { verbosity?: string }>>
export type ReasoningSettings = NonNullable<Request['reasoning']>

export type Tool = FunctionTool | CustomTool | NamespaceTool | SearchTool | WebSearchTool
export type FunctionTool = Sparse<api.FunctionTool>
/** The syntax is the client's own word. */
export type CustomTool = Sparse<
  With<api.CustomTool, { format?: { type: 'grammar'; syntax: string; definition: string } }>
>
export type NamespaceTool = Sparse<With<api.NamespaceTool, { tools: (FunctionTool | CustomTool)[] }>>
export type SearchTool = Sparse<api.ToolSearchTool>
export type WebSearchTool = Sparse<api.WebSearchTool>

export type ToolChoice =
  | api.ToolChoiceOptions
  | api.ToolChoiceAllowed
  | api.ToolChoiceFunction
  | api.ToolChoiceCustom
  /** The SDK lists only the names of the preview. */
  | { type: 'web_search' }

export type InputItem =
  | Message
  | FunctionCall
  | CustomCall
  | SearchCall
  | FunctionCallOutput
  | CustomCallOutput
  | Reasoning
/** The SDK wants an id in a message with a refusal; the API does not. Fields: a part that only this dialect has. */
export type Message = Sparse<
  With<api.EasyInputMessage, { type: 'message'; content: string | (InputPart | Refusal | Fields)[] }>
>
export type FunctionCall = Sparse<api.ResponseFunctionToolCall>
export type CustomCall = Sparse<api.ResponseCustomToolCall>
export type SearchCall = Sparse<api.ResponseInputItem.ToolSearchCall>
export type FunctionCallOutput = Sparse<
  With<api.ResponseInputItem.FunctionCallOutput, { output: CallOutput }>
>
export type CustomCallOutput = Sparse<With<api.ResponseCustomToolCallOutput, { output: CallOutput }>>
export type CallOutput = string | (InputPart | Fields)[]
/** Some upstreams give no id. */
export type Reasoning = Sparse<With<api.ResponseReasoningItem, { id?: string }>>

export type InputPart = InputText | InputImage | InputFile
export type InputText = Sparse<api.ResponseInputText>
/** Upstreams have levels of their own. */
type InputImage = Sparse<With<api.ResponseInputImage, { detail: string }>>
type InputFile = Sparse<api.ResponseInputFile>
export type Refusal = api.ResponseOutputRefusal

// --- Answers ----------------------------------------------------------------------------------------------------------

export type Response = Pick<api.Response, 'id' | 'created_at' | 'model'> & Outcome
/** The fields that Sluice determines. The others repeat the request (answer-echo.ts); undefined would erase them. */
export type Outcome = Partial<Ending> & {
  output: (OutputItem | Fields)[]
  completed_at?: number | null
  usage?: Usage
  /** Sluice has codes of its own. */
  error?: { code: string; message: string }
  /** Upstreams have tiers of their own. */
  service_tier?: string
}
export type Ending = Required<Pick<api.Response, 'status' | 'incomplete_details'>>
export type Usage = Sparse<api.ResponseUsage>

/** An item that a stream fills. */
export type DraftItem = OutputMessage | OutputReasoning | OutputCall
export type OutputItem = DraftItem | WebSearchCall | ImageCall
export type OutputMessage = Sparse<With<api.ResponseOutputMessage, { content: OutputPart[] }>>
export type OutputReasoning = Sparse<api.ResponseReasoningItem>
export type OutputCall = OutputFunctionCall | OutputCustomCall | OutputSearchCall
export type OutputFunctionCall = Sparse<api.ResponseFunctionToolCallItem>
export type OutputCustomCall = Sparse<api.ResponseCustomToolCallItem>
type OutputSearchCall = Sparse<api.ResponseToolSearchCall>
export type WebSearchCall = Sparse<api.ResponseFunctionWebSearch>
/** Upstreams have words of their own. */
export type ImageCall = Sparse<
  With<
    api.ResponseOutputItem.ImageGenerationCall,
    { background?: string; quality?: string; output_format?: string }
  >
>

export type OutputPart = OutputText | Refusal
/** Tokens pass as the upstream wrote them. Fields: an annotation that only this dialect has. */
export type OutputText = Sparse<
  With<api.ResponseOutputText, { annotations: (UrlCitation | Fields)[]; logprobs: unknown[] }>
>
export type ReasoningText = api.ResponseReasoningItem.Content
export type UrlCitation = api.ResponseOutputText.URLCitation

// --- Events -----------------------------------------------------------------------------------------------------------

/** The API's reference lists the name, the SDK does not. */
type CallDone = api.ResponseFunctionCallArgumentsDoneEvent & { name?: string }
type SdkEvent = Exclude<api.ResponseStreamEvent, { type: CallDone['type'] }> | CallDone
/** The SDK's events with these objects instead of the SDK's. */
type Carrying<Objects, E = SdkEvent> = E extends unknown
  ? { [K in keyof E]: K extends keyof Objects ? Objects[K] : E[K] }
  : never

export type Event = Carrying<{
  response: Response
  item: OutputItem | Fields
  part: OutputPart | ReasoningText | api.ResponseReasoningItem.Summary
  annotation: UrlCitation | Fields
  logprobs: unknown[]
}>
/** An event with an upstream's own objects. */
export type ForeignEvent = Carrying<
  Record<'response' | 'item' | 'part' | 'annotation', Fields> & { logprobs: unknown[] }
>
export type EventType = Event['type']
/** The fields of an event without its type and number. */
export type EventFields<T extends EventType, E = Event> = Omit<
  Extract<E, { type: T }>,
  'type' | 'sequence_number'
>

// --- Compactions ------------------------------------------------------------------------------------------------------

export type Compacted = Sparse<
  With<api.CompactedResponse, { output: (KeptMessage | Fields)[]; usage: Usage }>
>
/** A message of the client, with its own role and the fields that strict clients require. */
export type KeptMessage = Pick<api.ResponseInputMessageItem, 'id' | 'status' | 'type'> & { content: unknown }
export type Compaction = api.ResponseCompactionItem
