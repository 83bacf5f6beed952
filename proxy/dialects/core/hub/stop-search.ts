/** Finds the first of several sequences in a text that arrives in chunks, in time linear in the text. */

export interface Hit {
  /** Offset of its first character in the whole text. */
  at: number
  sequence: string
}

/** One sequence, and how much of it the end of the text matches so far (Knuth-Morris-Pratt). */
interface Tracked {
  sequence: string
  /** By length of a matched prefix: the length of the next shorter prefix that is also its suffix. */
  shorter: number[]
  matched: number
}

export class StopSearch {
  readonly #tracked: Tracked[]
  /** Length of the text so far. */
  #length = 0
  #best: Hit | undefined

  /** @param sequences none is empty. */
  constructor(sequences: readonly string[]) {
    this.#tracked = sequences.map((sequence) => ({
      sequence,
      shorter: shorterPrefixes(sequence),
      matched: 0,
    }))
  }

  /** While there is no hit: the offset before which no later hit can begin. */
  get safe(): number {
    let safe = this.#length
    for (const { matched } of this.#tracked) safe = Math.min(safe, this.#length - matched)
    return safe
  }

  /** The longest of the earliest hits, as soon as no further text can change it. */
  push(text: string): Hit | undefined {
    for (const tracked of this.#tracked) this.#follow(tracked, text)
    this.#length += text.length
    const best = this.#best
    if (best === undefined) return undefined
    const rival = this.#tracked.some(({ matched }) => matched > 0 && this.#length - matched <= best.at)
    return rival ? undefined : best
  }

  /** The hit at the end of the text. */
  end(): Hit | undefined {
    return this.#best
  }

  #follow(tracked: Tracked, text: string): void {
    const { sequence, shorter } = tracked
    let { matched } = tracked
    for (let i = 0; i < text.length; i++) {
      const char = text.charCodeAt(i)
      while (matched > 0 && sequence.charCodeAt(matched) !== char) matched = shorter[matched] ?? 0
      if (sequence.charCodeAt(matched) === char) matched++
      if (matched < sequence.length) continue
      this.#hit({ at: this.#length + i + 1 - sequence.length, sequence })
      matched = 0
    }
    tracked.matched = matched
  }

  #hit(hit: Hit): void {
    const best = this.#best
    const isBetter =
      best === undefined ||
      hit.at < best.at ||
      (hit.at === best.at && hit.sequence.length > best.sequence.length)
    if (isBetter) this.#best = hit
  }
}

function shorterPrefixes(sequence: string): number[] {
  const shorter = [0, 0]
  let matched = 0
  for (let i = 1; i < sequence.length; i++) {
    const char = sequence.charCodeAt(i)
    while (matched > 0 && sequence.charCodeAt(matched) !== char) matched = shorter[matched] ?? 0
    if (sequence.charCodeAt(matched) === char) matched++
    shorter.push(matched)
  }
  return shorter
}
