/** Tools that an upstream runs itself and bills per call. */
export const HOSTED_TOOLS = ['webSearch', 'fileSearch', 'codeInterpreter'] as const
export type HostedTool = (typeof HOSTED_TOOLS)[number]

/**
 * What a model call consumed. The kinds are disjoint, so that no token counts twice; those that are parts of another kind
 * say so. Each dialect converts its own counts (chat and responses include cached tokens in the input total, messages does
 * not).
 */
export interface Usage {
  /** Prompt tokens that were neither read from nor written to a cache. */
  input: number
  cachedInput: number
  cacheWrite: number
  /** Cache writes with a long lifetime (an hour or more). */
  cacheWriteLong: number
  /** All generated tokens, reasoning included. */
  output: number
  /** The part of `output` that was reasoning. */
  reasoning: number
  images: number
  /** Parts of `input`. */
  audioInput?: number
  imageInput?: number
  /** The part of `output` that was audio. */
  audioOutput?: number
  /** Calls of hosted tools. */
  webSearch?: number
  fileSearch?: number
  codeInterpreter?: number
}

export function zeroUsage(): Usage {
  return { input: 0, cachedInput: 0, cacheWrite: 0, cacheWriteLong: 0, output: 0, reasoning: 0, images: 0 }
}

/** The kinds that were used, for logs and entries. */
export function withoutZeros(usage: Usage): Record<string, number> {
  const used: Record<string, number> = {}
  for (const kind in usage) {
    const count = usage[kind as keyof Usage]
    if (count) used[kind] = count
  }
  return used
}

/** Prompt tokens of every kind. */
export function totalInput(usage: Usage): number {
  return usage.input + usage.cachedInput + usage.cacheWrite + usage.cacheWriteLong
}
