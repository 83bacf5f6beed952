/** Answers of the example upstream other than text: vectors that count letters, and images of one grey dot. */

const DIMENSIONS = 8
/** A PNG of one pixel. */
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg=='

/** An embeddings list for the texts, which counts words where a real provider counts tokens. */
export function embeddingsOf(model: string, texts: readonly string[]): object {
  const tokens = texts.reduce((sum, text) => sum + text.split(/\s+/).filter((word) => word !== '').length, 0)
  return {
    object: 'list',
    model,
    data: texts.map((text, index) => ({ object: 'embedding', index, embedding: vectorOf(text) })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}

/** Of length 1, as real ones are. */
function vectorOf(text: string): number[] {
  const counts = new Array<number>(DIMENSIONS).fill(0)
  for (const letter of text.toLowerCase()) {
    const place = (letter.codePointAt(0) ?? 0) % DIMENSIONS
    counts[place] = (counts[place] ?? 0) + 1
  }
  const length = Math.hypot(...counts)
  return length === 0 ? counts : counts.map((count) => count / length)
}

/** The answer to a request for `count` images. */
export function imagesOf(count: number): object {
  return {
    created: Math.floor(Date.now() / 1000),
    data: Array.from({ length: count }, () => ({ b64_json: DOT })),
    output_format: 'png',
  }
}
