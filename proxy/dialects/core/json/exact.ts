/**
 * Keeps long integers in tool arguments that are JSON objects instead of text. JavaScript numbers lose digits beyond 2^53,
 * and an id without them names another thing.
 */
import { isRecord, tryParse } from './value.ts'

type Revive = (key: string, value: unknown, context: { source?: string }) => unknown

interface ExactJson {
  parse(text: string, revive: Revive): unknown
  rawJSON(text: string): unknown
}

/** Not yet among the types of the language. */
const { parse, rawJSON } = JSON as unknown as ExactJson
/** Finds possible long integers. A match inside a string only costs a second parse. */
const LONG_INTEGER = /[[:,\s]-?\d{16}/
const INTEGER = /^-?\d+$/

/** For JSON.stringify, which writes -0 as 0. Written as a fraction, because parsers with integers drop the sign of -0. */
export const NEGATIVE_ZERO: unknown = rawJSON('-0.0')

/** The JSON value of arguments, for JSON.stringify only; undefined when the text is not JSON. */
export function parseArguments(text: string): unknown {
  const value = tryParse(text)
  return isRecord(value) ? (exactly(text) ?? value) : value
}

/**
 * Parses an answer whose content has tool calls with an `input` object, or a request whose list `turns` has them. The
 * input keeps its long integers, which only JSON.stringify can read. Undefined for text that is not JSON.
 */
export function parseWithInputs(text: string, turns?: string): unknown {
  const value = tryParse(text)
  if (!isRecord(value)) return value
  const exact = exactly(text)
  if (exact === undefined) return value
  const list = turns === undefined ? undefined : value[turns]
  if (turns !== undefined && Array.isArray(list)) {
    for (const [index, turn] of list.entries()) takeInputs(turn, at(exact[turns], index))
  }
  takeInputs(value, exact)
  return value
}

/** The object in `text` with its long integers; undefined when it has none, or nests too deep. */
function exactly(text: string): Record<string, unknown> | undefined {
  if (!LONG_INTEGER.test(text)) return undefined
  try {
    const value = parse(text, keepLong)
    return isRecord(value) ? value : undefined
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function keepLong(_key: string, value: unknown, { source }: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value
  return INTEGER.test(source) ? rawJSON(source) : value
}

/** Gives each block of `to` the input that the same block has in `from`. */
function takeInputs(to: unknown, from: unknown): void {
  if (!isRecord(to) || !Array.isArray(to.content) || !isRecord(from)) return
  for (const [index, block] of to.content.entries()) {
    const exact = at(from.content, index)
    if (isRecord(block) && isRecord(block.input) && isRecord(exact)) block.input = exact.input
  }
}

function at(list: unknown, index: number): unknown {
  return Array.isArray(list) ? list[index] : undefined
}
