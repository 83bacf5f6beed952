/**
 * A header's value without the spaces and tabs around it (RFC 9110, section 5.5). `trim` would take more away, such as a
 * no-break space, and two values that differ in bytes would be one.
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
