/** Reads the API key that a request presents. Two places are looked at, `Authorization: Bearer` and `x-api-key`. */
import { trimBlanks } from './header-value.ts'

export type Presented = { key: string } | { problem: 'none' | 'malformed' | 'different' }

/**
 * `rawHeaders` is Node's flat list of names and values as received, so that a header sent twice is seen twice.
 * Equal values in both places are one key; different ones are none at all: which of them would be charged?
 */
export function presentedKey(rawHeaders: readonly string[]): Presented {
  let key: string | undefined
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const value = credentialIn(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '')
    if (value === undefined) continue
    if (value === '') return { problem: 'malformed' }
    if (key !== undefined && key !== value) return { problem: 'different' }
    key = value
  }
  return key === undefined ? { problem: 'none' } : { key }
}

/** The credential in one header; empty when it is not one of ours; undefined when the header is another one. */
function credentialIn(name: string, value: string): string | undefined {
  switch (name.toLowerCase()) {
    case 'x-api-key':
      return trimBlanks(value)
    case 'authorization':
      return /^Bearer +(\S+) *$/i.exec(value)?.[1] ?? ''
    default:
      return undefined
  }
}
