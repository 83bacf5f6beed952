/** The items of a conversation so far. */
import { isRecord, tryParse } from '../../core/json/value.ts'

interface Exchange {
  input: string[]
  output: string[]
}

/**
 * The items of all exchanges in order. A compaction in an answer replaces everything before it; a compaction that the
 * client sent does not, because the client chose what to keep beside it.
 */
export function historyOf(exchanges: readonly Exchange[]): string[] {
  const from = exchanges.findLastIndex(({ output }) => output.some(isCompaction))
  const last = exchanges[from]
  if (last === undefined) return exchanges.flatMap(itemsOf)
  const { output } = last
  return [...output.slice(output.findLastIndex(isCompaction)), ...exchanges.slice(from + 1).flatMap(itemsOf)]
}

function itemsOf({ input, output }: Exchange): string[] {
  return [...input, ...output]
}

function isCompaction(text: string): boolean {
  if (!text.includes('"compaction"')) return false
  const item = tryParse(text)
  return isRecord(item) && item.type === 'compaction'
}
