import { totalInput, type Usage, zeroUsage } from '../../../contract/usage.ts'
import { isRecord } from '../core/json/value.ts'
import { count, isImpossible, positive } from '../core/neutral/token-count.ts'
import type * as wire from './wire.ts'

/**
 * The `usage` object of the images API in disjoint kinds, for an answer with this number of images. Undefined if it lacks
 * one of the two totals, or if one of its counts is impossible.
 */
export function readUsage(value: unknown, images: number): Usage | undefined {
  if (!isRecord(value)) return undefined
  const input = count(value.input_tokens)
  const output = count(value.output_tokens)
  if (input === undefined || output === undefined) return undefined
  const details = isRecord(value.input_tokens_details) ? value.input_tokens_details : {}
  if (isImpossible(details.cached_tokens) || isImpossible(details.image_tokens)) return undefined
  const cachedInput = Math.min(count(details.cached_tokens) ?? 0, input)
  const parts = positive({ imageInput: Math.min(count(details.image_tokens) ?? 0, input - cachedInput) })
  return { ...zeroUsage(), input: input - cachedInput, cachedInput, output, images, ...parts }
}

/** `textOnly`: the prompt had no images, so all input tokens are text. Otherwise the split is unknown and left out. */
export function writeUsage(usage: Usage, textOnly: boolean): wire.Usage {
  const input = totalInput(usage)
  return {
    input_tokens: input,
    input_tokens_details: textOnly ? { image_tokens: 0, text_tokens: input } : undefined,
    output_tokens: usage.output,
    total_tokens: input + usage.output,
  }
}

/** Adds the usage of images that were reported one by one. */
export function addUsage(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return {
    ...zeroUsage(),
    input: a.input + b.input,
    cachedInput: a.cachedInput + b.cachedInput,
    output: a.output + b.output,
    images: a.images + b.images,
    ...positive({ imageInput: (a.imageInput ?? 0) + (b.imageInput ?? 0) }),
  }
}
