/** The text without the characters of `signs` at its end, in linear time: `/[signs]+$/` is quadratic. */
export function withoutEnd(text: string, signs: string): string {
  let end = text.length
  while (end > 0 && signs.includes(text.charAt(end - 1))) end--
  return text.slice(0, end)
}
