/**
 * API keys that Sluice makes itself: `sk-sl1`, a public id of 10 characters, 32 secret ones (190 bits), and the CRC-32 of
 * all that in 6; letters and digits only. The checksum tells a key that was made up from one that is merely unknown, so
 * that guessing costs no look-up; scanners for leaked secrets use it the same way.
 */
import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const PREFIX = 'sk-sl1'
const ID_LENGTH = 10
const SECRET_LENGTH = 32
const CHECKSUM_LENGTH = 6
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ANYWHERE = new RegExp(`${PREFIX}[0-9A-Za-z]{${ID_LENGTH + SECRET_LENGTH + CHECKSUM_LENGTH}}`)
const FORMAT = new RegExp(`^${ANYWHERE.source}$`)

/** A new key, from the system's random numbers. */
export function mintKey(): string {
  let body = PREFIX
  for (let i = 0; i < ID_LENGTH + SECRET_LENGTH; i++) body += BASE62.charAt(randomInt(BASE62.length))
  return body + checksum(body)
}

/** True for a key that looks like one of ours. Only of those does the checksum say anything. */
export function isMintedFormat(key: string): boolean {
  return FORMAT.test(key)
}

/** True for a text in which something looks like one of ours. */
export function holdsMintedKey(text: string): boolean {
  return ANYWHERE.test(text)
}

/** Whether a key of our format can have been made by us. */
export function hasValidChecksum(key: string): boolean {
  const end = key.length - CHECKSUM_LENGTH
  return key.slice(end) === checksum(key.slice(0, end))
}

function checksum(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = BASE62.charAt(rest % BASE62.length) + text
    rest = Math.floor(rest / BASE62.length)
  }
  return text
}
