/**
 * Puts the history of a conversation into the order that every API accepts: each assistant turn whole, followed directly
 * by the results of its calls in their order, each call with exactly one result, ids unique.
 */
import type { Losses } from '../neutral/losses.ts'
import type {
  AssistantPart,
  AssistantTurn,
  ModelRequest,
  ToolCallPart,
  ToolResult,
  Turn,
} from '../neutral/types.ts'
import { cleanTurns } from './clean.ts'

const NO_OUTPUT = '(no output)'

/** A call of the history, with its result once found. */
interface Call {
  part: ToolCallPart
  result?: ToolResult
}

/** One answer of the model, collected from adjacent assistant turns. */
interface Answer {
  turns: AssistantTurn[]
  parts: AssistantPart[]
  calls: Call[]
  /** One of its calls has a result, so the next assistant turn is another answer. */
  answered: boolean
}

/** The calls of one answer that share an id, in their order. */
interface SameId {
  answer: Answer
  calls: Call[]
  /** How many of them have a result. */
  results: number
}

/** The request with a repaired history; the same object when it needs no repair. Records dropped results as losses. */
export function repairHistory(request: ModelRequest, losses: Losses): ModelRequest {
  const repair = new Repair(() => losses.lose('results'))
  for (const turn of cleanTurns(request.turns)) repair.add(turn)
  const turns = repair.turns(request.turns)
  const same =
    turns.length === request.turns.length && turns.every((turn, index) => turn === request.turns[index])
  return same ? request : { ...request, turns }
}

class Repair {
  readonly #items: (Answer | Exclude<Turn, { role: 'assistant' | 'tool' }>)[] = []
  readonly #byId = new Map<string, SameId>()
  readonly #ids = new Set<string>()
  readonly #lose: () => void

  constructor(lose: () => void) {
    this.#lose = lose
  }

  add(turn: Turn): void {
    if (turn.role === 'assistant') this.#addAnswer(turn)
    else if (turn.role === 'tool') for (const result of turn.results) this.#addResult(result)
    else this.#items.push(turn)
  }

  /** The repaired turns. Turns of `originals` that need no repair are the same objects. */
  turns(originals: readonly Turn[]): Turn[] {
    const toolTurns = new Map<ToolResult | undefined, Turn>()
    for (const turn of originals) if (turn.role === 'tool') toolTurns.set(turn.results[0], turn)
    return this.#items.flatMap((item, index): Turn[] => {
      if ('role' in item) return [item]
      const isTail = index === this.#items.length - 1
      const turn = answerTurn(item)
      const results = isTail && !item.answered ? [] : item.calls.map(resultOf)
      if (results.length === 0) return [turn]
      const original = toolTurns.get(results[0])
      if (original?.role === 'tool' && sameItems(original.results, results)) return [turn, original]
      return [turn, { role: 'tool', results }]
    })
  }

  #addAnswer(turn: AssistantTurn): void {
    const tail = this.#items.at(-1)
    let answer: Answer
    if (tail !== undefined && 'calls' in tail && !tail.answered) answer = tail
    else {
      answer = { turns: [], parts: [], calls: [], answered: false }
      this.#items.push(answer)
    }
    answer.turns.push(turn)
    for (const part of turn.parts) {
      if (part.type === 'tool-call') this.#addCall(answer, part)
      else answer.parts.push(part)
    }
  }

  /** Drops a call that repeats the previous one. A different call with a used id gets a new id. */
  #addCall(answer: Answer, part: ToolCallPart): void {
    let same = this.#byId.get(part.callId)
    if (same?.answer !== answer) {
      same = { answer, calls: [], results: 0 }
      this.#byId.set(part.callId, same)
    }
    const twin = same.calls.at(-1)
    if (twin !== undefined && twin.part.name === part.name && twin.part.input === part.input) return
    const callId = this.#freeId(part.callId)
    const call: Call = { part: callId === part.callId ? part : { ...part, callId } }
    same.calls.push(call)
    answer.calls.push(call)
    answer.parts.push(call.part)
  }

  /** Results with the same id belong to the calls with that id, in order. A surplus result replaces the last one. */
  #addResult(result: ToolResult): void {
    const same = this.#byId.get(result.callId)
    if (same === undefined) {
      this.#lose()
      return
    }
    const call = same.calls[same.results] ?? same.calls.at(-1)
    if (call === undefined) return
    if (call.result === undefined) same.results++
    else this.#lose()
    const { callId } = call.part
    call.result = callId === result.callId ? result : { ...result, callId }
    same.answer.answered = true
  }

  #freeId(wanted: string): string {
    let id = wanted
    for (let n = this.#ids.size; this.#ids.has(id); n++) id = `${wanted}_${n}`
    this.#ids.add(id)
    return id
  }
}

function answerTurn({ turns: [first, ...rest], parts }: Answer): AssistantTurn {
  if (first === undefined) return { role: 'assistant', parts }
  if (rest.length === 0 && sameItems(first.parts, parts)) return first
  return { ...first, parts }
}

function resultOf({ part, result }: Call): ToolResult {
  if (result !== undefined) return result
  return { callId: part.callId, kind: part.kind, parts: [{ type: 'text', text: NO_OUTPUT }] }
}

function sameItems<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index])
}
