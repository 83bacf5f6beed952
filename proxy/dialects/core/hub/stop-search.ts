/** Looks for the first of several sequences in a text that comes in pieces, in time linear in the text. */

export interface Hit {
  /** Offset of its first character in the whole text. */
  at: number
  sequence: string
}

/** One sequence and how far the end of the text so far matches it (Knuth, Morris, Pratt). */
interface Tracked {
  sequence: string
  /** For each length of a matched prefix: the next shorter prefix that is also its end. */
  shorter: number[]
  matched: number
}

export class StopSearch {
  readonly #tracked: Tracked[]
  /** Length of the text so far. */
  #length = 0
  #best: Hit | undefined

  /** `sequences` are not empty. */
  constructor(sequences: readonly string[]) {
    this.#tracked = sequences.map((sequence) => ({
      sequence,
      shorter: shorterPrefixes(sequence),
      matched: 0,
    }))
  }

  /** While there is no hit: the offset before which none can begin any more. */
  get safe(): number {
    let safe = this.#length
    for (const { matched } of this.#tracked) safe = Math.min(safe, this.#length - matched)
    return safe
  }

  /** The hit that begins first, the longest of those, as soon as no text to come can change which one it is. */
  push(text: string): Hit | undefined {
    for (const tracked of this.#tracked) this.#follow(tracked, text)
    this.#length += text.length
    const best = this.#best
    if (best === undefined) return undefined
    const rival = this.#tracked.some(({ matched }) => matched > 0 && this.#length - matched <= best.at)
    return rival ? undefined : best
  }

  /** The hit when no more text comes. */
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
