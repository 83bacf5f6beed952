/**
 * The neutral form between dialects: what a request asks, what a model answers, and the parts of a stream that carries
 * such an answer. Types alone; the helpers beside this file work on them, and no dialect is imported here.
 *
 * A field that every dialect knows, or two of them, is typed. A field of a request that a single dialect knows is kept in
 * an `ext` of that dialect where it stood (keep.ts): a conversion loses it, and tells so (losses.ts walks all ext by
 * itself). So an encoder reports only what it drops of the typed fields.
 */
import type { ApiName, DialectName } from '../../../../contract/endpoints.ts'
import type { Effort } from '../../../../contract/profiles.ts'
import type { Usage } from '../../../../contract/usage.ts'
import type { TypedField } from './typed-field.ts'

export type { ApiName, DialectName, Effort }

/** What only one dialect knows about the thing that it is attached to. */
export interface Ext {
  dialect: ApiName
  /** Where in the body, without indexes: `input.content`, '' at the top. With a field's name it names a loss. */
  at: string
  /** Fields as they were. Each is a loss in any other dialect. */
  fields: Record<string, unknown>
}

/** Anything that may carry what a single dialect knows. */
export interface Extended {
  ext?: Ext
  /** What the client calls a typed field of this thing where it wrote it under another name than most (losses.ts). */
  names?: Names
}

export type Names = Partial<Record<TypedField, string>>

// --- Opaque state of a vendor -----------------------------------------------------------------------------------------

/**
 * State that only the upstream which made it can read, and that must come back unchanged, in its place, in the same
 * turn: signatures and encrypted reasoning. Upstreams of other dialects cannot read it.
 */
export interface Carrier {
  /** Of the upstream that made it. */
  dialect: ApiName
  /** One of the dialect's carriers (Dialect.carriers). */
  kind: string
  value: string
  /** Of the item that the state belongs to, where the upstream gave it one. */
  id?: string | undefined
  /** Of the tool call that the state belongs to, where it travels apart from it. */
  callId?: string | undefined
}

/**
 * Carries vendor state through clients of another dialect: sealed, so that a client can neither make one up nor move
 * it to another owner (envelope.ts).
 */
export interface Envelopes {
  /** Text of the form `slc1.<kind>.<base64url>`. */
  seal(carrier: Carrier): string
  /** `foreign`: no envelope of ours. `broken`: ours by its form, but forged, changed, of another owner or of lost keys. */
  open(text: string): Carrier | 'foreign' | 'broken'
}

// --- Parts ------------------------------------------------------------------------------------------------------------

/** Bytes, or where they are. `id` names a file that one vendor keeps, and that no other one has. */
export type Media =
  | { kind: 'data'; mediaType: string; base64: string }
  | { kind: 'text'; mediaType: string; text: string }
  | { kind: 'url'; url: string }
  | { kind: 'id'; id: string; vendor: string }

/** A prompt prefix up to here should be cached. */
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

/** How an image was made, as far as the upstream says so, in the upstream's words. */
export interface Making {
  /** The prompt that it was made from, when the upstream wrote its own. */
  revisedPrompt?: string
  /** `<width>x<height>`. */
  size?: string
  quality?: string
  background?: string
  /** `png`, `jpeg`, `webp` … */
  format?: string
}

/** PDFs, text files and whatever else a model may read. */
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

/** What a model thought. `texts` are paragraphs (summary parts); a dialect with one text joins them by an empty line. */
export interface ReasoningPart extends Extended {
  type: 'reasoning'
  texts: string[]
  /** True: the chain of thought itself, false: a summary of it; absent: the dialect does not say. */
  raw?: boolean
  carrier?: Carrier
  /** What the client sent as carrier could not be used: forged, or of another vendor. A loss. */
  lostCarrier?: true
}

export interface ToolCallPart extends Extended {
  type: 'tool-call'
  callId: string
  name: string
  namespace?: string
  kind: 'function' | 'custom'
  /** Of the function by which the model looks for more tools. */
  search?: true
  /** JSON text of a function's arguments as the model wrote it (never parsed and written again), free text of a custom tool. */
  input: string
  carrier?: Carrier
  /** The answer ended in the middle of it: no client may run it. */
  cut?: true
}

/** An item of a tool that the vendor runs itself (searches, code, files): whole, as its dialect writes it. */
export interface HostedPart extends Extended {
  type: 'hosted'
  dialect: DialectName
  /** Its `type` there, such as `web_search_call`. */
  name: string
  item: Record<string, unknown>
  /** Where the client's body has it, for errors: `input[3]`. */
  path?: string
}

export type Annotation =
  | { type: 'url'; url: string; title?: string; start?: number; end?: number }
  /** Any other kind, known to its dialect alone. */
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
  /** `top`: a field of its own beside the conversation (`instructions`, `system`); else a message in its place. */
  placement: 'top' | 'message'
  /** Written as `developer`. */
  developer?: boolean
  parts: (TextPart | HostedPart)[]
}

export interface UserTurn extends Extended {
  role: 'user'
  parts: UserPart[]
}

/** All that the model said between two turns of others: reasoning, text and calls of one answer are one turn. */
export interface AssistantTurn extends Extended {
  role: 'assistant'
  parts: AssistantPart[]
}

/** Results of tool calls, those that stand together. */
export interface ToolTurn extends Extended {
  role: 'tool'
  results: ToolResult[]
}

export interface ToolResult extends Extended {
  callId: string
  /** Of the call that it answers, where the dialect tells. */
  kind?: 'function' | 'custom'
  name?: string
  parts: ResultPart[]
  /** The tools that a search found, in place of parts; they are among those of the request. */
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
  /** Absent: the client did not say. */
  strict?: boolean
  /** The client looks for more tools when the model calls it, and declares those that it finds. */
  search?: true
  cache?: CacheMark
}

/** A tool that takes free text, perhaps of a grammar. */
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

/** Any other tool that the vendor runs, whole. */
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
  /** A hosted tool is forced: whole, as its dialect writes it. */
  | { type: 'hosted'; dialect: DialectName; name: string; choice: Record<string, unknown> }

export type OutputFormat =
  | { type: 'json' }
  | {
      type: 'schema'
      name?: string
      description?: string
      schema: Record<string, unknown>
      strict?: boolean
    }

export interface Reasoning extends Extended {
  effort?: Effort
  /** Tokens to think with: the way of older models. */
  budgetTokens?: number
  /** `off`: the client forbids thinking; `adaptive`: the model decides; absent: the client did not say. */
  thinking?: 'off' | 'adaptive'
  /** Whether the client wants to read what was thought. */
  summary?: 'auto' | 'concise' | 'detailed' | 'none'
}

/** A request of a model, as a client asked it. */
export interface ModelRequest extends Extended {
  /** The API that it came in. */
  source: ApiName
  /** As the client named it. */
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
  /** Alternatives asked for (`n`), when more than one. */
  choices?: number
  /** Token log-probabilities are wanted, with so many alternatives for each. */
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
  /** Service tier, such as `priority`; `fast` for a request that asks for speed. */
  tier?: string | undefined
  /** Whether the upstream may keep the answer. */
  store?: boolean
  /** Compact the conversation: the answer is one item that stands for all of it. */
  compact?: true
  /** The client asked for usage in the stream. */
  wantsStreamUsage?: boolean
}

// --- An answer --------------------------------------------------------------------------------------------------------

export interface Finish {
  /** Why the model stopped. Where tool calls exist it is `tool-calls`, whatever the upstream said. */
  reason: 'stop' | 'length' | 'tool-calls' | 'content-filter'
  /** In the upstream's word, where it says more than `reason`: `pause_turn`, `model_context_window_exceeded`. */
  raw?: string
  /** The stop sequence that ended the answer. */
  stopSequence?: string
  /** For people, beside `content-filter`. */
  explanation?: string
}

export interface ModelAnswer {
  /** The upstream's. */
  id?: string
  model?: string
  /** Seconds since the epoch. */
  created?: number
  parts: AssistantPart[]
  finish: Finish
  /** Absent when the upstream did not report it. */
  usage?: Usage
  /** Tier that served the request, in the words of ModelRequest.tier. */
  tier?: string
}

// --- A stream ---------------------------------------------------------------------------------------------------------

/**
 * A piece of an answer. `id` names the part that it belongs to, unique in the stream, and parts open in the order in
 * which they stand in the answer. Between -start and -end only -deltas with the same id belong to a part; other parts
 * may come in between (parallel tool calls of some upstreams do), but of text and reasoning one is open at a time.
 */
export type StreamPart =
  /** First of all, once. `usage` is what is known before the first token (some dialects report the input there). */
  | { type: 'start'; id?: string; model?: string; created?: number; usage?: Usage }
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
  /** A part that comes whole: images, hosted items. */
  | { type: 'whole'; id: string; part: ImagePart | FilePart | AudioPart | HostedPart }
  /** A picture before it is done. `index` counts from 0; the part itself comes whole. */
  | { type: 'partial-image'; id: string; index: number; base64: string; made?: Making }
  /** Last of all, once; every part is closed before. */
  | { type: 'finish'; finish: Finish; usage?: Usage; tier?: string }

/** Stands between a decoder and an encoder: gets parts, and emits others in their place. */
export type PartFilter = (emit: (part: StreamPart) => void) => (part: StreamPart) => void
