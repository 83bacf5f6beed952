/** Shows clients the model name that they sent, in answers that pass as bytes. */
import type { GatewayError } from '../../../errors.ts'
import type { ByteLane, StreamObserver } from '../byte-lane.ts'
import { spansAt } from '../json/edit.ts'
import { type Cut, cut } from '../json/splice.ts'
import { editEvents } from '../sse/edit.ts'
import { PassingObserver } from './passing.ts'

const QUOTE = 0x22

type ModelAt = NonNullable<ByteLane['modelAt']>

/** A whole answer with the client's name for the model. */
export function renameInAnswer(body: Buffer, { answer }: ModelAt, model: string): Buffer {
  return cut(body, modelCuts(body, answer, model))
}

/** Whole events with the client's name for the model. */
export function renameInEvents(bytes: Buffer, { event }: ModelAt, model: string): Buffer {
  return editEvents(bytes, `"${event.at(-1)}"`, (data) => modelCuts(data, event, model))
}

export class RenamingObserver extends PassingObserver {
  readonly #at: ModelAt
  readonly #model: string

  constructor(inner: StreamObserver, at: ModelAt, model: string) {
    super(inner)
    this.#at = at
    this.#model = model
  }

  override errorEvent(error: GatewayError, requestId: string): Buffer {
    return this.#rename(super.errorEvent(error, requestId))
  }

  protected override passed(bytes: Buffer): Buffer {
    return this.#rename(bytes)
  }

  #rename(bytes: Buffer): Buffer {
    return renameInEvents(bytes, this.#at, this.#model)
  }
}

/** Replaces only strings: an answer without a model name stays without one. */
function modelCuts(json: Buffer, keys: readonly string[], model: string): Cut[] {
  const text = JSON.stringify(model)
  return spansAt(json, keys)
    .filter(({ start }) => json[start] === QUOTE)
    .map(({ start, end }) => ({ start, end, text }))
}
