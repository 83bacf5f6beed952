/** Bounds of the pause, in seconds. */
const SHORTEST = 1
const LONGEST = 60
/** Without this check, Date.parse would read many a number as a year. */
const HTTP_DATE = /^[A-Z][a-z]+,? .* GMT$/

/**
 * The pause that an upstream requests, in whole seconds from 1 to 60; undefined when it requests none. `retry-after-ms`
 * is more precise than `retry-after` (seconds, or an HTTP date: RFC 9110, 10.2.3) and takes precedence.
 */
export function retryAfterSeconds(
  headers: Record<string, string | string[] | undefined>,
): number | undefined {
  const seconds =
    readSeconds(headers['retry-after-ms'], (text) => Number(text) / 1000) ??
    readSeconds(headers['retry-after'], (text) =>
      HTTP_DATE.test(text) ? (Date.parse(text) - Date.now()) / 1000 : Number(text),
    )
  return seconds === undefined ? undefined : withinBounds(seconds)
}

/** The same from an error message, which is where streams have it: "Please try again in 1.2s". */
export function retryAfterText(text: string): number | undefined {
  const [, number, unit] = /try again in (\d{1,9}(?:\.\d{1,9})?)(ms|s)\b/i.exec(text) ?? []
  if (number === undefined) return undefined
  return withinBounds(unit?.toLowerCase() === 'ms' ? Number(number) / 1000 : Number(number))
}

function withinBounds(seconds: number): number {
  return Math.min(LONGEST, Math.max(SHORTEST, Math.ceil(seconds)))
}

function readSeconds(
  header: string | string[] | undefined,
  parse: (text: string) => number,
): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim()
  if (text === undefined || text === '') return undefined
  const seconds = parse(text)
  return Number.isNaN(seconds) ? undefined : seconds
}
