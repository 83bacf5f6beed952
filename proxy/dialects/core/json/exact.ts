/**
 * Keeps long integers in tool arguments that are JSON objects instead of text. JavaScript numbers lose digits beyond 2^53,
 * and an id without them names another thing.
 */
import { type Fields, isRecord, listOf, tryParse, unlessTooDeep } from './value.ts'

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

/**
 * An answer whose content has tool calls with an `input` object, or a request whose list `turns` has them. The inputs in
 * the result keep their long integers, which only JSON.stringify can read. `text`: of the value.
 */
export function withLongInputs(value: Fields, text: () => string, turns?: string): Fields {
  const list = turns === undefined ? undefined : value[turns]
  const given: unknown[] = Array.isArray(list) ? list : [value]
  if (!given.some((turn) => contentOf(turn).some((block) => isRecord(block) && hasLong(block.input))))
    return value
  const exact = exactly(text())
  if (exact === undefined) return value
  if (turns === undefined || !Array.isArray(list)) return takeInputs(value, exact)
  return {
    ...value,
    [turns]: list.map((turn, i) => (isRecord(turn) ? takeInputs(turn, at(exact[turns], i)) : turn)),
  }
}

/** True for a number whose digits may be lost. Without recursion, because an upstream's JSON may be of any depth. */
function hasLong(value: unknown): boolean {
  const rest = [value]
  while (rest.length > 0) {
    const one = rest.pop()
    if (typeof one === 'number' && Math.abs(one) > Number.MAX_SAFE_INTEGER) return true
    if (typeof one === 'object' && one !== null) for (const inner of Object.values(one)) rest.push(inner)
  }
  return false
}

/** The object in `text` with its long integers; undefined when it nests too deep. */
function exactly(text: string): Fields | undefined {
  const value = unlessTooDeep(() => parse(text, keepLong))
  return isRecord(value) ? value : undefined
}

function keepLong(_key: string, value: unknown, { source }: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value
  return INTEGER.test(source) ? rawJSON(source) : value
}

/** `turn` with the input that each of its blocks has in `exact`. */
function takeInputs(turn: Fields, exact: unknown): Fields {
  if (!Array.isArray(turn.content)) return turn
  const content = turn.content.map((block, i) => {
    const exactBlock = at(contentOf(exact), i)
    return isRecord(block) && isRecord(block.input) && isRecord(exactBlock)
      ? { ...block, input: exactBlock.input }
      : block
  })
  return { ...turn, content }
}

function contentOf(turn: unknown): unknown[] {
  return isRecord(turn) ? listOf(turn.content) : []
}

function at(list: unknown, index: number): unknown {
  return Array.isArray(list) ? list[index] : undefined
}
