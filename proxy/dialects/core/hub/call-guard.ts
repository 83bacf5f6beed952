/**
 * Keeps broken tool calls from clients. A function's arguments must be a JSON object; blank ones count as an empty object.
 * Any others make the answer a failure, unless the output limit or a filter ended it within its last call: that call is
 * marked as cut, so that no client runs it.
 */
import type { UpstreamFailure } from '../../../errors.ts'
import { isRecord, tryParse } from '../json/value.ts'
import type { AssistantPart, Emit, ModelAnswer, PartOf, StreamPart, ToolCallPart } from '../neutral/types.ts'

type End = PartOf<'tool-call-end'>
type Call = Pick<ToolCallPart, 'kind' | 'name' | 'input'>

/** True for the name of an upstream function that replaces a client's free-text tool. */
export type TakesText = (name: string) => boolean

/** Without this bound, a model that keeps writing blanks makes the guard reread all of them for each delta. */
const MAX_BLANKS = 100

/** `open`: how the answer ends decides whether the call is whole. */
type State = 'whole' | 'open' | 'broken'

/** Checks a whole answer. */
export function guardCalls(answer: ModelAnswer, takesText: TakesText): ModelAnswer | UpstreamFailure {
  const parts = answer.parts.map(withoutBlanks)
  const last = parts.at(-1)
  const states = parts.map((part) => (part.type === 'tool-call' ? stateOf(part, takesText) : 'whole'))
  const isCut = cutsCalls(answer.finish) && states.at(-1) !== 'whole'
  if (states.slice(0, isCut ? -1 : undefined).includes('broken')) return { ...broken(), status: 200 }
  if (!isCut || last?.type !== 'tool-call') return { ...answer, parts }
  const { carrier: _carrier, ...call } = last
  return { ...answer, parts: [...parts.slice(0, -1), { ...call, cut: true }] }
}

/** Checks a stream. Holds back the end of a call until the next part shows whether the call is whole. */
export class CallGuard {
  failure: UpstreamFailure | undefined
  readonly #emit: Emit
  readonly #takesText: TakesText
  readonly #calls = new Map<string, Call>()
  /** Id of the call that began last, the only one that a limit can cut. */
  #last = ''
  #waiting: { end: End; state: State }[] = []

  constructor(takesText: TakesText, emit: Emit) {
    this.#takesText = takesText
    this.#emit = emit
  }

  part(part: StreamPart): void {
    if (this.failure !== undefined) return
    if (part.type === 'tool-call-end') {
      this.#end(part)
      return
    }
    if (this.#waiting.length > 0) this.#release(part.type === 'finish' && cutsCalls(part.finish))
    if (this.failure !== undefined) return
    if (part.type === 'tool-call-start') {
      const { id, kind, name } = part
      this.#calls.set(id, { kind, name, input: '' })
      this.#last = id
    } else if (part.type === 'tool-call-delta') {
      this.#delta(part)
      return
    }
    this.#emit(part)
  }

  /** Holds back leading blanks: arguments that stay blank become an empty object. */
  #delta(delta: PartOf<'tool-call-delta'>): void {
    const call = this.#calls.get(delta.id)
    if (call === undefined) return
    const waited = call.kind === 'function' && isBlank(call.input) ? call.input : ''
    call.input += delta.text
    if (call.kind === 'custom' || !isBlank(call.input)) this.#emit({ ...delta, text: waited + delta.text })
  }

  #end(end: End): void {
    const call = this.#calls.get(end.id)
    if (call === undefined) return
    this.#calls.delete(end.id)
    const state = stateOf(call, this.#takesText)
    if (state === 'whole' && this.#waiting.length === 0) this.#emit(end)
    else this.#waiting.push({ end, state })
  }

  #release(isCut: boolean): void {
    const waiting = this.#waiting
    this.#waiting = []
    const mayBeCut = ({ id }: End) => isCut && id === this.#last
    if (waiting.some(({ end, state }) => state === 'broken' && !mayBeCut(end))) {
      this.failure = broken()
      return
    }
    for (const { end, state } of waiting) {
      const { carrier: _carrier, ...rest } = end
      this.#emit(state !== 'whole' && mayBeCut(end) ? { ...rest, cut: true } : end)
    }
  }
}

function stateOf({ kind, name, input }: Call, takesText: TakesText): State {
  if (kind === 'custom' || isBlank(input)) return 'open'
  // Some models write the bare text instead of the object that holds it.
  if (takesText(name) && !input.trimStart().startsWith('{')) return 'open'
  return isRecord(tryParse(input)) ? 'whole' : 'broken'
}

function isBlank(input: string): boolean {
  return input.length < MAX_BLANKS && input.trim() === ''
}

function withoutBlanks(part: AssistantPart): AssistantPart {
  return part.type === 'tool-call' && part.kind === 'function' && isBlank(part.input)
    ? { ...part, input: '' }
    : part
}

/** True when the answer may have ended in the middle of a call. */
function cutsCalls({ reason }: ModelAnswer['finish']): boolean {
  return reason === 'length' || reason === 'content-filter'
}

function broken(): UpstreamFailure {
  return { class: 'unknown', detail: 'broken_tool_arguments' }
}
