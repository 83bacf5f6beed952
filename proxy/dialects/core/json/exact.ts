/**
 * Keeps long integers in tool arguments that are JSON objects instead of text. JavaScript numbers lose digits beyond 2^53,
 * and an id without them names another thing.
 */
import { type Fields, isRecord, tryParse, unlessTooDeep } from './value.ts'

type Revive = (key: string, value: unknown, context: { source?: string }) => unknown

interface ExactJson {
  parse(text: string, revive: Revive): unknown
  rawJSON(text: string): unknown
}

/** Not yet among the types of the language. */
const { parse, rawJSON } = JSON as unknown as ExactJson
const INTEGER = /^-?\d+$/

/** For JSON.stringify, which writes -0 as 0. Written as a fraction, because parsers with integers drop the sign of -0. */
export const NEGATIVE_ZERO: unknown = rawJSON('-0.0')

/** The JSON value of arguments, for JSON.stringify only; undefined when the text is not JSON. */
export function parseArguments(text: string): unknown {
  const value = tryParse(text)
  return isRecord(value) && hasLong(value) ? (exactly(text) ?? value) : value
}

/** True for a value with a number whose digits may be lost. Without recursion: an upstream's JSON may be of any depth. */
export function hasLong(value: unknown): boolean {
  const rest = [value]
  while (rest.length > 0) {
    const one = rest.pop()
    if (typeof one === 'number' && Math.abs(one) > Number.MAX_SAFE_INTEGER) return true
    if (typeof one === 'object' && one !== null) for (const inner of Object.values(one)) rest.push(inner)
  }
  return false
}

/** The object in `text` with its long integers, for JSON.stringify only; undefined when it nests too deep. */
export function exactly(text: string): Fields | undefined {
  const value = unlessTooDeep(() => parse(text, keepLong))
  return isRecord(value) ? value : undefined
}

function keepLong(_key: string, value: unknown, { source }: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value
  return INTEGER.test(source) ? rawJSON(source) : value
}
