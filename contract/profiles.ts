/**
 * What an upstream can do, beyond its type. A Channel names a profile and may override single features; code asks
 * for a feature, never for a model's name.
 */

export const PROFILES = ['generic', 'openai', 'openai-reasoning', 'anthropic', 'anthropic-adaptive'] as const
export type Profile = (typeof PROFILES)[number]

export interface Features {
  /** Reports usage in a chat stream when asked by `stream_options.include_usage`. */
  streamUsage: boolean
  /** Serves /embeddings beside its own type. */
  embeddings: boolean
  /** Serves /images/generations and /images/edits beside its own type. */
  images: boolean
}

const GENERIC: Features = { streamUsage: true, embeddings: true, images: true }

const TABLE: Record<Profile, Features> = {
  generic: GENERIC,
  openai: GENERIC,
  'openai-reasoning': GENERIC,
  anthropic: { ...GENERIC, embeddings: false, images: false },
  'anthropic-adaptive': { ...GENERIC, embeddings: false, images: false },
}

/** The features of a profile (default generic), with a channel's own overrides on top. */
export function featuresOf(profile: Profile | undefined, overrides: Partial<Features> = {}): Features {
  const features = { ...TABLE[profile ?? 'generic'] }
  for (const name of Object.keys(features) as (keyof Features)[]) {
    const override = overrides[name]
    if (override !== undefined) features[name] = override
  }
  return features
}
