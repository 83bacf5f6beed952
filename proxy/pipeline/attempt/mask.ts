/** Removes a channel's credential from the answers of its upstream: some upstreams quote it. */
import type { ChannelRecord } from '../../../contract/table/records.ts'
import { spellings } from './secrets.ts'

/** A shorter credential may be an ordinary word of an answer. */
const MIN_LENGTH = 16
const MASK = Buffer.from('***')

export type Mask = (bytes: Buffer) => Buffer

/** Masks the credential in whole answers, and in whole events of a stream. */
export function maskOf({ auth }: Pick<ChannelRecord, 'auth'>): Mask {
  const known = masks.get(auth)
  if (known !== undefined) return known
  const mask = maskFor(auth.secret ?? '')
  masks.set(auth, mask)
  return mask
}

/** Each lives as long as its record. */
const masks = new WeakMap<ChannelRecord['auth'], Mask>()

function maskFor(secret: string): Mask {
  if (secret.length < MIN_LENGTH) return (bytes) => bytes
  const secrets = [...new Set(spellings(secret))].map((text) => Buffer.from(text))
  return (bytes) => secrets.reduce(without, bytes)
}

function without(bytes: Buffer, secret: Buffer): Buffer {
  let at = bytes.indexOf(secret)
  if (at < 0) return bytes
  const pieces: Buffer[] = []
  let from = 0
  for (; at >= 0; at = bytes.indexOf(secret, from)) {
    pieces.push(bytes.subarray(from, at), MASK)
    from = at + secret.length
  }
  return Buffer.concat([...pieces, bytes.subarray(from)])
}
