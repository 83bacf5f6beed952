/**
 * The neutral form between dialects: a model's request, its answer, and the parts of a stream that carries the answer.
 * Types only; no dialect is imported here.
 *
 * A field that at least two dialects know is typed. A request field that a single dialect knows is kept in place, in an
 * `ext` of that dialect (keep.ts): a conversion loses it, and losses.ts reports it. An encoder reports only the typed
 * fields that it drops.
 */
import type { ApiName, DialectName } from '../../../../contract/apis.ts'
import type { Effort } from '../../../../contract/features.ts'
import type { Usage } from '../../../../contract/usage.ts'
import type { TypedField } from './typed-field.ts'

export type { ApiName, DialectName, Effort }

/** The fields of an object that only one dialect knows. */
export interface Ext {
  dialect: ApiName
  /** Position in the body, without indexes: `input.content`, '' at the top. With a field's name it names a loss. */
  at: string
  /** Unchanged values. Each field is a loss in any other dialect. */
  fields: Record<string, unknown>
}

/** An object that may have fields of a single dialect. */
export interface Extended {
  ext?: Ext
  /** The client's names for typed fields of this object, where they differ from the usual ones (losses.ts). */
  names?: Names
}

export type Names = Partial<Record<TypedField, string>>

// --- Opaque state of a vendor -----------------------------------------------------------------------------------------

/**
 * State that only the upstream that made it can read, and that must come back unchanged, in the same place of the same
 * turn: signatures and encrypted reasoning.
 */
export interface Carrier {
  /** Of the upstream that made it. */
  dialect: ApiName
  /** One of the dialect's carriers (Dialect.carriers). */
  kind: string
  value: string
  /** Of the item that the state belongs to, where the upstream gave it one. */
  id?: string | undefined
  /** Of the tool call that the state belongs to, if the two travel apart. */
  callId?: string | undefined
}

/**
 * Carries vendor state through clients of another dialect. It is sealed, so that a client can neither forge it nor move
 * it to another owner (envelope.ts).
 */
export interface Envelopes {
  /** Text of the form `slc1.<kind>.<base64url>`. */
  seal(carrier: Carrier): string
  /** `foreign`: not an envelope. `broken`: an envelope that is forged, changed, another owner's or sealed with a lost key. */
  open(text: string): Carrier | 'foreign' | 'broken'
}

// --- Parts ------------------------------------------------------------------------------------------------------------

/** Bytes or their location. `id` names a file that only one vendor has. */
export type Media =
  | { kind: 'data'; mediaType: string; base64: string }
  | { kind: 'text'; mediaType: string; text: string }
  | { kind: 'url'; url: string }
  | { kind: 'id'; id: string; vendor: string }

/** The upstream should cache the prompt up to here. */
export interface CacheMark {
  ttl?: '5m' | '30m' | '1h' | '12h'
}

export interface TextPart extends Extended {
  type: 'text'
  text: string
  cache?: CacheMark
  /** Of an answer. */
  annotations?: Annotation[]
  /** Of an answer: the tokens of the text with their probabilities, as the upstream wrote them. */
  logprobs?: unknown[]
}

export interface ImagePart extends Extended {
  type: 'image'
  source: Media
  detail?: string
  cache?: CacheMark
  /** Of an answer. */
  made?: Making
}

/** How an image was made, in the upstream's words, as far as it reports it. */
export interface Making {
  /** The upstream's own prompt, if it rewrote the client's. */
  revisedPrompt?: string
  /** `<width>x<height>`. */
  size?: string
  quality?: string
  background?: string
  /** `png`, `jpeg`, `webp` … */
  format?: string
}

/** PDFs, text files and other files that a model may read. */
export interface FilePart extends Extended {
  type: 'file'
  source: Media
  name?: string
  cache?: CacheMark
}

export interface AudioPart extends Extended {
  type: 'audio'
  base64: string
  format: string
}

/** A model's refusal in words. */
export interface RefusalPart extends Extended {
  type: 'refusal'
  text: string
}

/** A model's thoughts. `texts` are paragraphs (summary parts); a dialect with one text joins them by an empty line. */
export interface ReasoningPart extends Extended {
  type: 'reasoning'
  texts: string[]
  /** True: the chain of thought itself; false: a summary; absent: unknown. */
  raw?: boolean
  carrier?: Carrier
  /** The client's carrier was unusable: forged, or another vendor's. A loss. */
  lostCarrier?: true
}

export interface ToolCallPart extends Extended {
  type: 'tool-call'
  callId: string
  name: string
  namespace?: string
  kind: 'function' | 'custom'
  /** A call of the function by which the model searches for more tools. */
  search?: true
  /** A function's arguments as the JSON text that the model wrote (never re-encoded), or a custom tool's free text. */
  input: string
  carrier?: Carrier
  /** The answer ended in the middle of the call: no client may run it. */
  cut?: true
}

/** An item of a tool that the vendor runs (searches, code, files): whole, in its dialect. */
export interface HostedPart extends Extended {
  type: 'hosted'
  dialect: DialectName
  /** Its `type` there, such as `web_search_call`. */
  name: string
  item: Record<string, unknown>
  /** Its position in the client's body, for errors: `input[3]`. */
  path?: string
}

export type Annotation =
  | { type: 'url'; url: string; title?: string; start?: number; end?: number }
  /** Any other kind, which only its dialect knows. */
  | { type: 'other'; ext: Ext }

export type UserPart = TextPart | ImagePart | FilePart | AudioPart | HostedPart
export type AssistantPart =
  | TextPart
  | RefusalPart
  | ReasoningPart
  | ToolCallPart
  | ImagePart
  | FilePart
  | AudioPart
  | HostedPart
export type ResultPart = TextPart | ImagePart | FilePart | HostedPart

// --- A request --------------------------------------------------------------------------------------------------------

export interface SystemTurn extends Extended {
  role: 'system'
  /** `top`: a field beside the conversation (`instructions`, `system`); `message`: a message within it. */
  placement: 'top' | 'message'
  parts: (TextPart | HostedPart)[]
}

export interface UserTurn extends Extended {
  role: 'user'
  parts: UserPart[]
}

/** The model's whole answer between two other turns: its reasoning, text and calls are one turn. */
export interface AssistantTurn extends Extended {
  role: 'assistant'
  parts: AssistantPart[]
}

/** Adjacent results of tool calls. */
export interface ToolTurn extends Extended {
  role: 'tool'
  results: ToolResult[]
}

export interface ToolResult extends Extended {
  callId: string
  /** Of the call that it answers, if the dialect states it. */
  kind?: 'function' | 'custom'
  parts: ResultPart[]
  /** The tools that a search found, instead of parts. The request declares them too. */
  found?: (FunctionTool | CustomTool)[]
  isError?: boolean
  cache?: CacheMark
}

export type Turn = SystemTurn | UserTurn | AssistantTurn | ToolTurn

export interface FunctionTool extends Extended {
  type: 'function'
  name: string
  namespace?: string
  description?: string
  /** JSON Schema; absent: no parameters. */
  parameters?: Record<string, unknown>
  /** Absent: the client did not set it. */
  strict?: boolean
  /** When the model calls it, the client searches for more tools and declares those that it finds. */
  search?: true
  cache?: CacheMark
}

/** A tool that takes free text, optionally of a grammar. */
export interface CustomTool extends Extended {
  type: 'custom'
  name: string
  namespace?: string
  description?: string
  grammar?: { syntax: string; definition: string }
  cache?: CacheMark
}

/** The one hosted tool that all vendors have. */
export interface WebSearchTool extends Extended {
  type: 'web-search'
  allowedDomains?: string[]
  userLocation?: { city?: string; country?: string; region?: string; timezone?: string }
}

/** Any other tool that the vendor runs, whole, in its dialect. */
export interface HostedTool extends Extended {
  type: 'hosted'
  dialect: DialectName
  /** Its `type` there. */
  name: string
  tool: Record<string, unknown>
}

export type Tool = FunctionTool | CustomTool | WebSearchTool | HostedTool

export type ToolChoice =
  | { type: 'auto' | 'none' | 'required' }
  | { type: 'tool'; kind: 'function' | 'custom'; name: string }
  | { type: 'allowed'; mode: 'auto' | 'required'; tools: { kind: 'function' | 'custom'; name: string }[] }
  | { type: 'web-search' }
  /** Forces a hosted tool; `choice` is whole, in its dialect. */
  | { type: 'hosted'; dialect: DialectName; name: string; choice: Record<string, unknown> }

export type OutputFormat =
  | { type: 'json' }
  | {
      type: 'schema'
      name?: string
      description?: string
      schema: Record<string, unknown>
      strict?: boolean
      /** The client's API enforces every schema that it accepts. */
      enforced?: true
    }

export interface Reasoning extends Extended {
  effort?: Effort
  /** Thinking tokens, which older models take instead of an effort. */
  budgetTokens?: number
  /** `off`: the client forbids thinking; `adaptive`: the model decides; absent: the client did not set it. */
  thinking?: 'off' | 'adaptive'
  /** Whether the client wants to read the thoughts. */
  summary?: 'auto' | 'concise' | 'detailed' | 'none'
  /** The client's API shows thoughts without a request for them. */
  alwaysShown?: true
}

/** A client's request to a model. */
export interface ModelRequest extends Extended {
  /** By the client's name. */
  model: string
  stream: boolean
  turns: Turn[]
  tools: Tool[]
  toolChoice?: ToolChoice
  /** False: one call at a time. */
  parallelToolCalls?: boolean
  maxOutputTokens?: number
  temperature?: number
  topP?: number
  topK?: number
  stop?: string[]
  seed?: number
  frequencyPenalty?: number
  presencePenalty?: number
  /** Number of requested answers (`n`), if more than one. */
  choices?: number
  /** The client wants token log-probabilities, with so many alternatives for each. */
  logprobs?: { top: number }
  format?: OutputFormat
  verbosity?: string
  reasoning?: Reasoning
  /** The end user, for the vendor's abuse detection. */
  user?: string
  /** The client's session: its requests share a prompt cache. */
  session?: string
  metadata?: Record<string, string>
  cacheKey?: string
  /** Service tier, such as `priority`; `fast` for a request for speed. */
  tier?: string | undefined
  /** The client asked for speed instead of a tier. It costs more, so only some channels allow it. */
  speed?: true
  /** Whether the upstream may keep the answer. */
  store?: boolean
  /** Compact the conversation: the answer is one item that replaces all of it. */
  compact?: true
  /** The client requested usage in the stream. */
  wantsStreamUsage?: boolean
}

// --- An answer --------------------------------------------------------------------------------------------------------

export interface Finish {
  /** Why the model stopped. With tool calls it is `tool-calls`, whatever the upstream reported. */
  reason: 'stop' | 'length' | 'tool-calls' | 'content-filter'
  /** The upstream's word, if it is more precise than `reason`: `pause_turn`, `model_context_window_exceeded`. */
  raw?: string
  /** The stop sequence that ended the answer. */
  stopSequence?: string
  /** For people, with `content-filter`. */
  explanation?: string
}

export interface ModelAnswer {
  parts: AssistantPart[]
  finish: Finish
  /** Absent when the upstream did not report it. */
  usage?: Usage
  /** Tier that served the request, in the words of ModelRequest.tier. */
  tier?: string
}

// --- A stream ---------------------------------------------------------------------------------------------------------

/**
 * A fragment of an answer. `id`, unique in the stream, names the part that it belongs to. Parts start in the order of the
 * answer. Between -start and -end only -deltas with the same id belong to a part. Parts may overlap, as parallel tool
 * calls of some upstreams do, but only one of text and reasoning is open at a time.
 */
export type StreamPart =
  /** The first part, once. `usage`: known before the first token (some dialects report the input there). */
  | { type: 'start'; usage?: Usage }
  | { type: 'text-start'; id: string }
  | { type: 'text-delta'; id: string; text: string; logprobs?: unknown[] }
  | { type: 'annotation'; id: string; annotation: Annotation }
  | { type: 'text-end'; id: string }
  | { type: 'refusal-start'; id: string }
  | { type: 'refusal-delta'; id: string; text: string }
  | { type: 'refusal-end'; id: string }
  | { type: 'reasoning-start'; id: string; raw?: boolean }
  /** `paragraph`: index in `texts`. */
  | { type: 'reasoning-delta'; id: string; text: string; paragraph: number }
  | { type: 'reasoning-end'; id: string; carrier?: Carrier }
  | {
      type: 'tool-call-start'
      id: string
      callId: string
      name: string
      namespace?: string
      kind: 'function' | 'custom'
      search?: true
    }
  | { type: 'tool-call-delta'; id: string; text: string }
  | { type: 'tool-call-end'; id: string; carrier?: Carrier; cut?: true }
  /** A part that arrives whole: images, hosted items. */
  | { type: 'whole'; id: string; part: ImagePart | FilePart | AudioPart | HostedPart }
  /** A preview of an image. `index` counts from 0; the image itself arrives whole. */
  | { type: 'partial-image'; id: string; index: number; base64: string; made?: Making }
  /** The last part, once; every other part has ended. */
  | { type: 'finish'; finish: Finish; usage?: Usage; tier?: string }

export type PartOf<T extends StreamPart['type']> = Extract<StreamPart, { type: T }>

export type Emit = (part: StreamPart) => void

/** Sits between a decoder and an encoder: takes parts, and emits others instead. */
export type PartFilter = (emit: Emit) => Emit
