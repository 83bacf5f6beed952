import type * as wire from '../../wire.ts'

/** Writes numbered events. */
export class EventWriter<E extends { type: wire.EventType } = wire.Event> {
  #text = ''
  #sequence = 0

  event<T extends E['type']>(type: T, fields: wire.EventFields<T, E>): void {
    this.#text += eventText({ type, sequence_number: this.#sequence++, ...fields })
  }

  /** Writes a delta event. `head` comes from deltaHead(). */
  delta(head: string, delta: string): void {
    this.#text += `${head}${this.#sequence++},"delta":${JSON.stringify(delta)}}\n\n`
  }

  /** All events since the last call. */
  take(): string {
    const text = this.#text
    this.#text = ''
    return text
  }
}

export function eventText(event: { type: wire.EventType; sequence_number: number }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/** The part of a delta event that is the same for all deltas of a part: serialized once, not for each token. */
export function deltaHead<T extends wire.EventType>(
  type: T,
  fields: Omit<wire.EventFields<T>, 'delta'>,
): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields }).slice(0, -1)},"sequence_number":`
}
