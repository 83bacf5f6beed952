/** One word, such as upstreams give for a reason; never a sentence, a number or a key. */
export function isWord(value: unknown): boolean {
  return typeof value === 'string' && /^[A-Za-z][A-Za-z_-]{0,39}$/.test(value)
}
