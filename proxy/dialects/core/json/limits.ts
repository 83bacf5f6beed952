/** Limits of JSON: whether they must be checked before it is parsed, and the refusals past them. */
import { GatewayError } from '../../../errors.ts'

/** Of 128 kB of brackets JSON.parse makes lists for 20 ms, while a scan refuses their depth at once. */
const MOST_BRACKETS = 2_000
/** Larger bodies are scanned while they arrive. A message of a WebSocket is not, and may take long to parse. */
const MOST_CHARACTERS = 131_072

/** Whether JSON.parse takes little time for `text`, so that its limits may be checked on the value. If not, a scan must come first. */
export function isQuickToParse(text: string): boolean {
  return (
    text.length <= MOST_CHARACTERS && !hasMore(text, '[', MOST_BRACKETS) && !hasMore(text, '{', MOST_BRACKETS)
  )
}

function hasMore(text: string, char: string, most: number): boolean {
  let count = 0
  for (let at = text.indexOf(char); at >= 0; at = text.indexOf(char, at + 1)) if (++count > most) return true
  return false
}

export const tooDeep = (most: number) => refusal(`nests deeper than ${most} levels`)
export const tooManyKeys = (most: number) => refusal(`has more than ${most} object keys`)
export const tooManyValues = (most: number) => refusal(`has more than ${most} values`)
export const notAnObject = () => refusal('must be a JSON object')

function refusal(problem: string): GatewayError {
  return new GatewayError('invalid_request', `The body ${problem}.`)
}
