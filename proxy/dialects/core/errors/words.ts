/** True for one word, such as an upstream's reason: never a sentence, a number or a key. */
export function isWord(value: unknown): boolean {
  return typeof value === 'string' && /^[A-Za-z][A-Za-z_-]{0,39}$/.test(value)
}
