/** Long integers in the inputs of tool calls, which are JSON objects in this dialect and text in the neutral form. */
import { exactly, hasLong } from '../../core/json/exact.ts'
import { type Fields, isRecord, listOf, tryParse } from '../../core/json/value.ts'

/** The JSON of an answer, whose inputs keep their long integers. */
export function parseAnswer(text: string): unknown {
  const value = tryParse(text)
  return isRecord(value) ? withLongInputs(value, () => text) : value
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
