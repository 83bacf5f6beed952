/** A header's value and its parameters: `form-data; name="image"; filename="a.png"` (RFC 9110 5.6.6). */
interface HeaderValue {
  /** In lower case. */
  value: string
  /** Names in lower case. */
  parameters: Map<string, string>
}

const TOKEN = /^[!#$%&'*+\-.^`|~\w]+$/

/** Undefined for a malformed value or a repeated parameter. Takes linear time. */
export function readHeader(text: string): HeaderValue | undefined {
  const first = endOf(text, ';', 0)
  const value = text.slice(0, first).trim().toLowerCase()
  const parameters = new Map<string, string>()
  for (let at = first; at < text.length; ) {
    const start = skipSpace(text, at + 1)
    if (start >= text.length) break
    const equals = endOf(text, '=', start)
    const name = text.slice(start, equals).trim().toLowerCase()
    if (equals === text.length || !TOKEN.test(name) || parameters.has(name)) return undefined
    const read = readValue(text, skipSpace(text, equals + 1))
    if (read === undefined) return undefined
    parameters.set(name, read.value)
    at = read.end
  }
  return { value, parameters }
}

/** The value at `start`, and the position of the next parameter or the end of the text. */
function readValue(text: string, start: number): { value: string; end: number } | undefined {
  if (text[start] !== '"') {
    const end = endOf(text, ';', start)
    return { value: text.slice(start, end).trim(), end }
  }
  let value = ''
  let at = start + 1
  for (; text[at] !== '"'; at++) {
    if (at >= text.length) return undefined
    // Some browsers do not escape the backslashes of a path.
    if (text[at] === '\\' && (text[at + 1] === '"' || text[at + 1] === '\\')) at++
    value += text[at]
  }
  const end = skipSpace(text, at + 1)
  return end === text.length || text[end] === ';' ? { value, end } : undefined
}

function endOf(text: string, character: string, from: number): number {
  const at = text.indexOf(character, from)
  return at < 0 ? text.length : at
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (text[at] === ' ' || text[at] === '\t') at++
  return at
}
