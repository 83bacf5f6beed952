/** Writes numbered events. */
export class EventWriter {
  #text = ''
  #sequence = 0

  event(type: string, fields: object): void {
    const data = JSON.stringify({ type, sequence_number: this.#sequence++, ...fields })
    this.#text += `event: ${type}\ndata: ${data}\n\n`
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

/** The part of a delta event that is the same for all deltas of a part: serialized once, not for each token. */
export function deltaHead(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields }).slice(0, -1)},"sequence_number":`
}
