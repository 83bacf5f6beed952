/**
 * The objects that Sluice writes in the responses API: the SDK's types, and what Sluice writes beyond them. Types only.
 * Objects that a vendor or a client wrote pass as Fields. A literal beside them in a union needs `satisfies`.
 */
import type * as api from 'openai/resources/responses/responses'
import type { Fields } from '../core/json/value.ts'

/** Optional fields may be undefined: JSON leaves them out. */
type Written<T> = { [K in keyof T]: object extends Pick<T, K> ? T[K] | undefined : T[K] }
/** T with the fields of More instead of its own. */
type With<T, More> = Written<Omit<T, keyof More> & More>

// --- Requests ---------------------------------------------------------------------------------------------------------

export type Request = With<
  api.ResponseCreateParamsBase,
  {
    model: string
    input: (InputItem | Fields)[]
    store: boolean
    reasoning?: ReasoningSettings
    text?: TextSettings
    tools?: (Tool | Fields)[]
    tool_choice?: ToolChoice | Fields
    /** Upstreams have tiers of their own. */
    service_tier?: string
  }
>

export type TextSettings = {
  format?: Written<api.ResponseFormatTextConfig> | undefined
  /** Upstreams have levels of their own. */
  verbosity?: string | undefined
}
export type ReasoningSettings = Written<NonNullable<api.ResponseCreateParamsBase['reasoning']>>

export type Tool = FunctionTool | CustomTool | NamespaceTool | SearchTool | WebSearchTool
export type FunctionTool = Written<api.FunctionTool>
/** `syntax` is the client's. */
export type CustomTool = With<
  api.CustomTool,
  { format?: { type: 'grammar'; syntax: string; definition: string } }
>
export type NamespaceTool = With<api.NamespaceTool, { tools: (FunctionTool | CustomTool)[] }>
export type SearchTool = Written<api.ToolSearchTool>
export type WebSearchTool = Written<api.WebSearchTool>

export type ToolChoice =
  | api.ToolChoiceOptions
  | api.ToolChoiceAllowed
  | api.ToolChoiceFunction
  | api.ToolChoiceCustom
  /** The SDK knows only the names of the preview. */
  | { type: 'web_search' }

export type InputItem =
  | Message
  | FunctionCall
  | CustomCall
  | SearchCall
  | FunctionCallOutput
  | CustomCallOutput
  | Reasoning
/** The API takes a refusal, too, in a message without an id. Fields: a part that only this dialect has. */
export type Message = With<
  api.EasyInputMessage,
  { type: 'message'; content: string | (InputPart | Refusal | Fields)[] }
>
export type FunctionCall = Written<api.ResponseFunctionToolCall>
export type CustomCall = Written<api.ResponseCustomToolCall>
export type SearchCall = Written<api.ResponseInputItem.ToolSearchCall>
export type FunctionCallOutput = With<api.ResponseInputItem.FunctionCallOutput, { output: CallOutput }>
export type CustomCallOutput = With<api.ResponseCustomToolCallOutput, { output: CallOutput }>
export type CallOutput = string | (InputPart | Fields)[]
/** Without an id from upstreams that give none. */
export type Reasoning = With<api.ResponseReasoningItem, { id?: string }>

export type InputPart = InputText | InputImage | InputFile
export type InputText = Written<api.ResponseInputText>
/** Upstreams have details of their own. */
export type InputImage = With<api.ResponseInputImage, { detail: string }>
export type InputFile = Written<api.ResponseInputFile>
export type CacheBreakpoint = Pick<InputText, 'prompt_cache_breakpoint'>
export type Refusal = api.ResponseOutputRefusal

// --- Answers ----------------------------------------------------------------------------------------------------------

export type Response = Pick<api.Response, 'id' | 'created_at' | 'model'> & Outcome
/** What Sluice determines. The other fields repeat the request (answer-echo.ts), and undefined would erase them. */
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
export type Usage = With<
  api.ResponseUsage,
  { input_tokens_details: Written<api.ResponseUsage.InputTokensDetails> }
>

/** An item that a stream fills. */
export type DraftItem = OutputMessage | OutputReasoning | OutputCall
export type OutputItem = DraftItem | WebSearchCall | ImageCall
export type OutputMessage = With<api.ResponseOutputMessage, { content: OutputPart[] }>
export type OutputReasoning = Written<api.ResponseReasoningItem>
export type OutputCall = OutputFunctionCall | OutputCustomCall | OutputSearchCall
export type OutputFunctionCall = Written<api.ResponseFunctionToolCallItem>
export type OutputCustomCall = Written<api.ResponseCustomToolCallItem>
export type OutputSearchCall = Written<api.ResponseToolSearchCall>
export type WebSearchCall = Written<api.ResponseFunctionWebSearch>
/** Upstreams have words of their own. */
export type ImageCall = With<
  api.ResponseOutputItem.ImageGenerationCall,
  { background?: string; quality?: string; output_format?: string }
>

export type OutputPart = OutputText | Refusal
/** Tokens pass as the upstream wrote them. Fields: an annotation that only this dialect has. */
export type OutputText = With<
  api.ResponseOutputText,
  { annotations: (UrlCitation | Fields)[]; logprobs: unknown[] }
>
export type ReasoningText = api.ResponseReasoningItem.Content
export type UrlCitation = api.ResponseOutputText.URLCitation

// --- Events -----------------------------------------------------------------------------------------------------------

/** The API's reference has the name, the SDK has not. */
type CallDone = api.ResponseFunctionCallArgumentsDoneEvent & { name?: string }
type AnyEvent = Exclude<api.ResponseStreamEvent, { type: CallDone['type'] }> | CallDone
type Carrying<Objects, E = AnyEvent> = E extends unknown
  ? { [K in keyof E]: K extends keyof Objects ? Objects[K] : E[K] }
  : never

interface OwnObjects {
  response: Partial<Response>
  item: OutputItem | Fields
  part: OutputPart | ReasoningText | api.ResponseReasoningItem.Summary
  annotation: UrlCitation | Fields
  logprobs: unknown[]
}
export type Event = Carrying<OwnObjects>
export type EventType = Event['type']
/** The fields of an event without its type and number. */
export type EventFields<T extends EventType, E = Event> = Omit<
  Extract<E, { type: T }>,
  'type' | 'sequence_number'
>

/** An event with an upstream's own objects. */
export type ForeignEvent = Carrying<{
  [K in keyof OwnObjects]: OwnObjects[K] extends unknown[] ? unknown[] : Fields
}>

// --- Compactions ------------------------------------------------------------------------------------------------------

export type Compacted = With<api.CompactedResponse, { output: (KeptMessage | Fields)[]; usage: Usage }>
/** A message of the client, with its own role and the fields that strict clients require. */
export type KeptMessage = Pick<api.ResponseInputMessageItem, 'id' | 'status' | 'type'> & { content: unknown }
export type Compaction = api.ResponseCompactionItem
