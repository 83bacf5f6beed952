/**
 * What an upstream can do, beyond its type. A Channel names a profile and may override single features; a route may
 * name another profile for a model. Code asks for a feature, never for a model's name.
 */
import type { ChannelType } from './api/channel.ts'

export const PROFILES = ['generic', 'openai', 'openai-reasoning', 'anthropic', 'anthropic-adaptive'] as const
export type Profile = (typeof PROFILES)[number]

/** How deep a model thinks, weakest first. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

/**
 * How depth of thinking is asked for. None: the model does not think. Effort: by an effort level. Budget: messages'
 * `thinking.budget_tokens`, the way of older models. Adaptive: messages' `thinking: adaptive` with an effort level.
 */
export const REASONINGS = ['None', 'Effort', 'Budget', 'Adaptive'] as const
export type ReasoningControl = (typeof REASONINGS)[number]

/** Which reasoning of earlier turns a chat upstream takes back as `reasoning_content`. */
export const REASONING_HISTORIES = ['None', 'CurrentTurn', 'All'] as const
export type ReasoningHistory = (typeof REASONING_HISTORIES)[number]

export interface Features {
  /** Reports usage in a chat stream when asked by `stream_options.include_usage`. */
  streamUsage: boolean
  /** Ends every choice of a stream with a `finish_reason` (chat); without it `[DONE]` after content ends an answer. */
  finishReason: boolean
  /** Serves /embeddings beside its own type. */
  embeddings: boolean
  /** Serves /images/generations and /images/edits beside its own type. */
  images: boolean
  /** Takes `max_completion_tokens` instead of `max_tokens` (chat). */
  maxCompletionTokens: boolean
  /** Wants instructions as role `developer` instead of `system` (chat, responses). */
  developerRole: boolean
  /** Takes temperature, top_p and (messages) top_k. */
  sampling: boolean
  reasoning: ReasoningControl
  /** Effort levels that the model has; another one becomes the nearest. `none` in it: thinking can be switched off. */
  efforts: Effort[]
  reasoningHistory: ReasoningHistory
  /** Holds its answer to a JSON Schema. */
  structuredOutput: boolean
  /** Takes custom (free text) tools (chat, responses); else they are wrapped in functions. */
  customTools: boolean
  /** Searches the web itself when asked by its dialect's hosted tool. */
  webSearch: boolean
  /** Takes system messages in the middle of a conversation (messages); else they become user text. */
  systemTurns: boolean
  /** Goes on from an assistant message at the end (messages). */
  prefill: boolean
  /** Takes marks of what to cache: `prompt_cache_breakpoint`, `cache_control`. */
  cacheMarks: boolean
  /** Takes null as the content of an assistant message with tool calls (chat); else it gets "". */
  nullContent: boolean
  /** Takes `speed: fast` (messages). */
  speed: boolean
  /** Shortens conversations itself: /responses/compact and the item `compaction_trigger` (responses). */
  compaction: boolean
}

const ALL_EFFORTS = [...EFFORTS]

const GENERIC: Features = {
  streamUsage: true,
  finishReason: true,
  embeddings: true,
  images: true,
  maxCompletionTokens: false,
  developerRole: false,
  sampling: true,
  reasoning: 'Effort',
  efforts: ALL_EFFORTS,
  reasoningHistory: 'CurrentTurn',
  structuredOutput: true,
  customTools: false,
  webSearch: false,
  systemTurns: false,
  prefill: false,
  cacheMarks: false,
  nullContent: true,
  speed: false,
  compaction: false,
}

/** What an unknown upstream of a type is taken for, where that differs from GENERIC. */
const GENERIC_OF_TYPE: Partial<Record<ChannelType, Partial<Features>>> = {
  responses: { customTools: true, webSearch: true, compaction: true },
  messages: {
    embeddings: false,
    images: false,
    sampling: false,
    reasoning: 'Adaptive',
    efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
    webSearch: true,
    cacheMarks: true,
  },
}

const OPENAI: Partial<Features> = {
  maxCompletionTokens: true,
  reasoning: 'None',
  reasoningHistory: 'None',
  customTools: true,
}
const ANTHROPIC: Partial<Features> = { embeddings: false, images: false, webSearch: true, cacheMarks: true }

const OF_PROFILE: Record<Profile, Partial<Features>> = {
  generic: {},
  openai: OPENAI,
  'openai-reasoning': { ...OPENAI, reasoning: 'Effort', developerRole: true, sampling: false },
  anthropic: {
    ...ANTHROPIC,
    sampling: true,
    prefill: true,
    reasoning: 'Budget',
    efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
  },
  'anthropic-adaptive': {
    ...ANTHROPIC,
    sampling: false,
    prefill: false,
    systemTurns: true,
    reasoning: 'Adaptive',
    efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
  },
}

/** Single features that replace those of a profile. */
export type Overrides = { [K in keyof Features]?: Features[K] | undefined }

/** The features of a channel of this type under a profile (default generic), with its own overrides on top. */
export function featuresOf(
  type: ChannelType,
  profile: Profile | undefined,
  overrides: Overrides = {},
): Features {
  const features = { ...GENERIC, ...GENERIC_OF_TYPE[type], ...OF_PROFILE[profile ?? 'generic'] }
  const set = Object.entries(overrides).filter(([, value]) => value !== undefined)
  return Object.assign(features, Object.fromEntries(set))
}
