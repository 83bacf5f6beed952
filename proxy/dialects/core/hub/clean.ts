/** Removes empty texts and lone surrogates from a conversation, because some upstreams refuse them. */
import type {
  AssistantPart,
  Media,
  ResultPart,
  SystemTurn,
  ToolResult,
  Turn,
  UserPart,
} from '../neutral/types.ts'

type Part = AssistantPart | UserPart | ResultPart

/**
 * The turns without empty text parts and empty turns, with U+FFFD for each lone surrogate. Unchanged parts stay the same
 * objects. An empty user turn at the end stays: without it the upstream would continue the previous answer.
 */
export function cleanTurns(turns: readonly Turn[]): Turn[] {
  return turns.flatMap((turn, index): Turn[] => {
    if (turn.role === 'tool') {
      const results = eachKept(turn.results, cleanResult)
      if (results.length === 0) return []
      return [results === turn.results ? turn : { ...turn, results }]
    }
    const parts = cleanParts<SystemTurn['parts'][number] | UserPart | AssistantPart>(turn.parts)
    const isLastWord = turn.role === 'user' && index === turns.length - 1
    if (parts.length === 0 && !isLastWord) return []
    return [parts === turn.parts ? turn : ({ ...turn, parts } as Turn)]
  })
}

function cleanResult(result: ToolResult): ToolResult {
  const parts = cleanParts(result.parts)
  return parts === result.parts ? result : { ...result, parts }
}

function cleanParts<P extends Part>(parts: P[]): P[] {
  return eachKept(parts, (part) => (isEmpty(part) ? undefined : (wellFormed(part) as P)))
}

/** Reasoning with a carrier is never empty: the vendor requires its state back. */
function isEmpty(part: Part): boolean {
  if (part.type === 'text' || part.type === 'refusal') return part.text === ''
  if (part.type !== 'reasoning' || part.carrier !== undefined || part.lostCarrier) return false
  return part.texts.every((text) => text === '')
}

/** The part with U+FFFD for each lone surrogate; the same object when it has none. */
export function wellFormed(part: Part): Part {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text.isWellFormed() ? part : { ...part, text: part.text.toWellFormed() }
    case 'reasoning':
      if (part.texts.every((text) => text.isWellFormed())) return part
      return { ...part, texts: part.texts.map((text) => text.toWellFormed()) }
    case 'tool-call':
      return part.input.isWellFormed() ? part : { ...part, input: part.input.toWellFormed() }
    case 'file': {
      const source = wellFormedMedia(part.source)
      return source === part.source ? part : { ...part, source }
    }
    default:
      return part
  }
}

function wellFormedMedia(media: Media): Media {
  if (media.kind !== 'text' || media.text.isWellFormed()) return media
  return { ...media, text: media.text.toWellFormed() }
}

/** The items that `change` returns, without undefined; the same array when nothing changes. */
function eachKept<T>(items: T[], change: (item: T) => T | undefined): T[] {
  const changed = items.flatMap((item) => change(item) ?? [])
  const same = changed.length === items.length && changed.every((item, index) => item === items[index])
  return same ? items : changed
}
