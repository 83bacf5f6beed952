/**
 * API keys that Sluice mints: `sk-sl1`, a public id of 10 characters, 32 secret characters (190 bits), and a CRC-32 of
 * all of that in 6 characters; letters and digits only. Thanks to the checksum, a made-up key is refused without a
 * look-up. Scanners for leaked secrets can use it the same way.
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

/** A new key from the system's random number generator. */
export function mintKey(): string {
  let body = PREFIX
  for (let i = 0; i < ID_LENGTH + SECRET_LENGTH; i++) body += BASE62.charAt(randomInt(BASE62.length))
  return body + checksum(body)
}

/** True for a key in the format of minted keys. Only such keys have a checksum. */
export function isMintedFormat(key: string): boolean {
  return FORMAT.test(key)
}

/** True for a text that contains something in the format of minted keys. */
export function holdsMintedKey(text: string): boolean {
  return ANYWHERE.test(text)
}

/** Whether the checksum of a key in the minted format is right. */
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
