/** What the gateway writes in chat: OpenAI's own types, and the fields of other vendors. Types only. */
import type { Chat, CompletionUsage, ResponseFormatJSONSchema } from 'openai/resources'
import type { Fields } from '../core/json/value.ts'
import type { Sparse, With } from '../core/json/wire.ts'

// --- Requests ---------------------------------------------------------------------------------------------------------

export type Request = Sparse<
  With<
    Chat.ChatCompletionCreateParams,
    {
      messages: Message[]
      /** Fields: of another vendor's tool, as the client wrote them. */
      tools?: (Tool | Fields)[]
      tool_choice?: ToolChoice | Fields
      /** Other vendors have other values for these two. */
      service_tier?: string
      verbosity?: string
      stream?: boolean
    }
  >
>

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage
export type SystemMessage = Sparse<
  Chat.ChatCompletionSystemMessageParam | Chat.ChatCompletionDeveloperMessageParam
>
export type UserMessage = Sparse<With<Chat.ChatCompletionUserMessageParam, { content: string | Part[] }>>
export type AssistantMessage = Sparse<
  With<Chat.ChatCompletionAssistantMessageParam, Thoughts & { tool_calls?: ToolCall[] }>
>
export type ToolMessage = Sparse<Chat.ChatCompletionToolMessageParam>

export type TextPart = Sparse<Chat.ChatCompletionContentPartText>
export type RefusalPart = Chat.ChatCompletionContentPartRefusal
export type FilePart = Sparse<Chat.ChatCompletionContentPart.File>
/** `detail`, and the `format` of audio: the client's values, which may be another vendor's. */
export type ImagePart = Sparse<
  With<Chat.ChatCompletionContentPartImage, { image_url: { url: string; detail?: string } }>
>
type AudioPart = Sparse<
  With<Chat.ChatCompletionContentPartInputAudio, { input_audio: { data: string; format: string } }>
>
export type Part = TextPart | ImagePart | AudioPart | FilePart

export type JsonSchema = Sparse<ResponseFormatJSONSchema.JSONSchema>

type Tool = FunctionTool | CustomTool
export type FunctionTool = Sparse<Chat.ChatCompletionFunctionTool>
/** `syntax`: the client's value, which may be another vendor's. */
export type CustomTool = Sparse<
  With<
    Chat.ChatCompletionCustomTool,
    { custom: With<Chat.ChatCompletionCustomTool.Custom, { format?: Grammar }> }
  >
>
type Grammar = { type: 'grammar'; grammar: { syntax: string; definition: string } }
export type SearchOptions = Sparse<Chat.ChatCompletionCreateParams.WebSearchOptions>
type ToolChoice = Chat.ChatCompletionToolChoiceOption
export type AllowedTools = Chat.ChatCompletionAllowedToolChoice
export type NamedTool = Sparse<Chat.ChatCompletionNamedToolChoice | Chat.ChatCompletionNamedToolChoiceCustom>

// --- Requests and answers ---------------------------------------------------------------------------------------------

/** `extra_content`: Google's, for the state of a call. */
export type ToolCall = Sparse<Chat.ChatCompletionMessageToolCall & { extra_content?: unknown }>

type Thoughts = {
  /** DeepSeek's. */
  reasoning_content?: string
  /** vLLM's, which only the byte lane writes. */
  reasoning?: string
  /** OpenRouter's. */
  reasoning_details?: Detail[]
}
/** Fields: as the upstream sent it. */
export type Detail = ReasoningDetail | Fields
export type ReasoningDetail = Sparse<
  | { type: 'reasoning.text'; text?: string; signature: string }
  | { type: 'reasoning.encrypted'; data: string; id?: string }
>

// --- Answers ----------------------------------------------------------------------------------------------------------

/** Other vendors have other tiers. */
type Served = { service_tier?: string }
/** Tokens as the upstream wrote them. */
export type Logprobs = { content: unknown[]; refusal: null }

export type Completion = Sparse<With<Chat.ChatCompletion, Served & { choices: Choice[]; usage?: Usage }>>
type Choice = With<Chat.ChatCompletion.Choice, { message: Answer; logprobs: Logprobs | null }>
export type FinishReason = Chat.ChatCompletion.Choice['finish_reason']
export type Answer = Sparse<
  With<Chat.ChatCompletionMessage, Thoughts & Annotations & Images & { tool_calls?: ToolCall[] }>
>

export type Chunk = Sparse<
  With<Chat.ChatCompletionChunk, Served & { choices: ChunkChoice[]; usage?: Usage | null }>
>
export type ChunkChoice = With<Chat.ChatCompletionChunk.Choice, { delta: Delta; logprobs: Logprobs | null }>
export type Delta = Sparse<
  With<Chat.ChatCompletionChunk.Choice.Delta, Thoughts & Annotations & Images & { tool_calls?: CallDelta[] }>
>
export type CallDelta = Chat.ChatCompletionChunk.Choice.Delta.ToolCall & { extra_content?: unknown }

/** The SDK knows them in whole answers only. */
type Annotations = { annotations?: AnyAnnotation[] }
/** Fields: another kind of annotation, as the upstream sent it. */
export type AnyAnnotation = Annotation | Fields
export type Annotation = Chat.ChatCompletionMessage.Annotation

/** OpenRouter's. */
type Images = { images?: Image[] }
export type Image = Sparse<Partial<Indexed> & { type: 'image_url'; image_url: { url: string } }>

/** An entry of a list in a stream, whose entries arrive in several deltas. */
export type Indexed = { index: number }

export type Usage = Sparse<With<CompletionUsage, { prompt_tokens_details: PromptDetails }>>
/** `cache_write_tokens_details`: OpenAI's, which the SDK does not know yet. */
type PromptDetails = CompletionUsage.PromptTokensDetails & {
  cache_write_tokens_details?: { ttl_30m_tokens: number; ttl_12h_tokens: number }
}
