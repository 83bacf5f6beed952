/**
 * What an upstream can do, beyond its type. A Channel names a profile and may override single features; a route may
 * name another profile for a model. Code depends on features, never on a model's name.
 */
import type { ChannelType } from './apis.ts'
import { CHANNEL_TYPE_FACTS } from './channel-types.ts'
import { EFFORTS, type Features } from './features.ts'

export const PROFILES = ['generic', 'openai', 'openai-reasoning', 'anthropic', 'anthropic-adaptive'] as const
export type Profile = (typeof PROFILES)[number]

const GENERIC: Features = {
  streamUsage: true,
  finishReason: true,
  embeddings: true,
  images: true,
  maxCompletionTokens: false,
  developerRole: false,
  sampling: true,
  reasoning: 'Effort',
  efforts: [...EFFORTS],
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
