/**
 * What an upstream can do, beyond its type. A Channel names a profile and may override single features; a route may
 * name another profile for a model. Code depends on features, never on a model's name.
 */
import type { ChannelType } from './api/channel.ts'
import { CHANNEL_TYPE_FACTS } from './channel-types.ts'

export const PROFILES = ['generic', 'openai', 'openai-reasoning', 'anthropic', 'anthropic-adaptive'] as const
export type Profile = (typeof PROFILES)[number]

/** Reasoning effort levels, weakest first. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

/**
 * How requests ask for reasoning. None: the model does not reason. Effort: an effort level. Budget: messages'
 * `thinking.budget_tokens`, for older models. Adaptive: messages' `thinking: adaptive` with an effort level.
 */
export const REASONINGS = ['None', 'Effort', 'Budget', 'Adaptive'] as const
export type ReasoningControl = (typeof REASONINGS)[number]

/** Which reasoning of earlier turns a chat upstream accepts as `reasoning_content`. */
export const REASONING_HISTORIES = ['None', 'CurrentTurn', 'All'] as const
export type ReasoningHistory = (typeof REASONING_HISTORIES)[number]

export interface Features {
  /** Reports usage in a chat stream when `stream_options.include_usage` is set. */
  streamUsage: boolean
  /** Ends every choice of a stream with a `finish_reason` (chat); if not, `[DONE]` after content ends an answer. */
  finishReason: boolean
  /** Serves /embeddings beside its own type. */
  embeddings: boolean
  /** Serves /images/generations and /images/edits beside its own type. */
  images: boolean
  /** Expects `max_completion_tokens` instead of `max_tokens` (chat). */
  maxCompletionTokens: boolean
  /** Expects instructions in the role `developer` instead of `system` (chat, responses). */
  developerRole: boolean
  /** Accepts temperature, top_p and (messages) top_k. */
  sampling: boolean
  reasoning: ReasoningControl
  /** Effort levels of the model; others are mapped to the nearest. With `none`, reasoning can be switched off. */
  efforts: Effort[]
  reasoningHistory: ReasoningHistory
  /** Can force an answer to match a JSON Schema. */
  structuredOutput: boolean
  /** Accepts custom (free text) tools (chat, responses); if not, they are wrapped in functions. */
  customTools: boolean
  /** Has web search as a hosted tool of its dialect. */
  webSearch: boolean
  /** Accepts system messages in the middle of a conversation (messages); if not, they become user text. */
  systemTurns: boolean
  /** Continues an assistant message at the end (messages). */
  prefill: boolean
  /** Accepts cache markers: `prompt_cache_breakpoint`, `cache_control`. */
  cacheMarks: boolean
  /** Accepts null as the content of an assistant message with tool calls (chat); if not, "" is sent. */
  nullContent: boolean
  /** Accepts `speed: fast` (messages). */
  speed: boolean
  /** Compacts conversations itself: /responses/compact and the item `compaction_trigger` (responses). */
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

/** The features of a channel of this type with this profile (default generic) and these overrides. */
export function featuresOf(
  type: ChannelType,
  profile: Profile | undefined,
  overrides: Overrides = {},
): Features {
  const features = { ...GENERIC, ...CHANNEL_TYPE_FACTS[type].features, ...OF_PROFILE[profile ?? 'generic'] }
  const set = Object.entries(overrides).filter(([, value]) => value !== undefined)
  return Object.assign(features, Object.fromEntries(set))
}
