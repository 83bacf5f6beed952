/** Reads the API key of a request from `Authorization: Bearer`, and from the headers that vendors use for a bare key. */
import { KEY_HEADERS } from '../../contract/channel-types.ts'
import { trimBlanks } from './header-value.ts'

export type Presented = { key: string } | { problem: 'none' | 'malformed' | 'different' }

/**
 * `rawHeaders` is Node's flat list of names and values as received, so that a header sent twice is seen twice.
 * Equal values in several headers are one key. Different ones are a problem: it is unclear which of them to charge.
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

/** The credential in one header; empty when it is malformed; undefined for any other header. */
function credentialIn(name: string, value: string): string | undefined {
  const header = name.toLowerCase()
  if (KEY_HEADERS.has(header)) return trimBlanks(value)
  if (header !== 'authorization') return undefined
  return /^Bearer +(\S+) *$/i.exec(value)?.[1] ?? ''
}
