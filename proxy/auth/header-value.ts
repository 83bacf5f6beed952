/**
 * A header's value without the spaces and tabs around it (RFC 9110, section 5.5). `trim` would also remove others, such as
 * a no-break space, and make two different values equal.
 */
export function trimBlanks(value: string): string {
  let start = 0
  let end = value.length
  while (start < end && isBlank(value, start)) start++
  while (end > start && isBlank(value, end - 1)) end--
  return value.slice(start, end)
}

function isBlank(value: string, at: number): boolean {
  return value[at] === ' ' || value[at] === '\t'
}
