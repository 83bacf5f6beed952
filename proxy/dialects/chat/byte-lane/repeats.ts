/**
 * Most events of a stream differ from the one before in one text alone. Such an event can hold nothing else that
 * matters, so that it need not be searched. Positions are those of the stream's bytes as Latin-1.
 */
const QUOTE = 0x22
const BACKSLASH = 0x5c

export class Repeats {
  #before = ''
  #after = ''

  /** Length of the text in the event from `start` to `end`; -1 when the event is not like the one learned. */
  textLength(latin1: string, start: number, end: number): number {
    const from = start + this.#before.length
    const to = end - this.#after.length
    if (this.#before === '' || to <= from) return -1
    // Comparing whole slices is faster than startsWith and endsWith.
    if (latin1.slice(start, from) !== this.#before || latin1.slice(to, end) !== this.#after) return -1
    for (let i = from; i < to; i++) {
      const code = latin1.charCodeAt(i)
      if (code === QUOTE || code === BACKSLASH) return -1
    }
    return to - from
  }

  /** Of an event that holds nothing but one text of interest, from `from` to `to` inside its quotes. */
  learn(latin1: string, start: number, end: number, from: number, to: number): void {
    this.#before = latin1.slice(start, from)
    this.#after = latin1.slice(to, end)
  }

  forget(): void {
    this.#before = ''
  }
}
