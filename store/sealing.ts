/**
 * Seals records for a store that others can read: AES-256-GCM under a key of a file, bound to the name that the record
 * is stored under, so that records cannot be swapped either.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Log } from '../contract/log.ts'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
/** 96 bits, random for each seal (NIST SP 800-38D 8.2.2). */
const IV_BYTES = 12
const TAG_BYTES = 16
const LOOK_MS = 2_000
/** Records under a key that nobody has must not make us read the file for each of them. */
const LOOK_AT_ONCE_MS = 500

export interface KeyRing {
  /** Id of the key that seals now, the first of the file. */
  sealsWith(): string
  /** The sealed text; `name` is what it will be stored under. */
  seal(name: string, text: string): string
  /** The text and the id of its key. Throws SealBroken when it does not open under this name. */
  open(name: string, sealed: string): { text: string; kid: string }
}

/** Not sealed by a key of the ring, for another name, or changed since. */
export class SealBroken extends Error {
  override name = 'SealBroken'
}

/** The file of sealing keys is not as it must be; says where, and never what stands there. */
export class SealingKeysError extends Error {
  override name = 'SealingKeysError'
}

/** Key id to key; the first one seals. */
type Keys = ReadonlyMap<string, Buffer>

/** What is stored: the key's id, the IV, and the ciphertext with the tag behind it, in base64. */
const envelope = z.object({ kid: z.string(), iv: z.base64(), ct: z.base64() })

/**
 * Reads a file of lines `<id>:<base64 of 32 bytes>`; the first key seals, all open. Empty lines and lines that begin
 * with # are passed over. The file is read again every two seconds, and at once when a record is sealed under an unknown
 * id; one that cannot be used then leaves the keys as they were, and is told of once. Throws SealingKeysError.
 */
export function readKeyRing(path: string, log: Log): KeyRing {
  /** What was read last; empty when there was no file. */
  let seen = read(path)
  let keys = parseKeys(path, seen)
  let lookedAt = performance.now()

  // By what it holds and not by its times: a mounted Secret is a link that is turned to another file.
  function look(): void {
    lookedAt = performance.now()
    let found = ''
    try {
      found = read(path)
      if (found === seen) return
      keys = parseKeys(path, found)
      log.info({ path, keys: [...keys.keys()] }, 'sealing keys were read again')
    } catch (error) {
      if (found === '' && seen === '') return
      log.error({ err: error }, 'sealing keys cannot be read again; those that were known stay')
    }
    seen = found
  }

  // Also while nothing is sealed or opened: who rotates a key waits until every program says that it has the new one.
  setInterval(look, LOOK_MS).unref()

  function first(): [kid: string, key: Buffer] {
    for (const entry of keys) return entry
    throw new SealingKeysError(`${path} has no key`)
  }

  return ringOf(first, (kid) => {
    if (!keys.has(kid) && performance.now() - lookedAt >= LOOK_AT_ONCE_MS) look()
    return keys.get(kid)
  })
}

/** A ring of one key that lives as long as the process: for a store that does. */
export function ephemeralKeyRing(): KeyRing {
  const key = randomBytes(KEY_BYTES)
  return ringOf(
    () => ['ephemeral', key],
    (kid) => (kid === 'ephemeral' ? key : undefined),
  )
}

function ringOf(first: () => [kid: string, key: Buffer], find: (kid: string) => Buffer | undefined): KeyRing {
  return {
    sealsWith: () => first()[0],
    seal(name, text) {
      const [kid, key] = first()
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv(CIPHER, key, iv).setAAD(boundTo(name))
      const ct = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return JSON.stringify({ kid, iv: iv.toString('base64'), ct: ct.toString('base64') })
    },
    open(name, sealed) {
      const { kid, iv, ct } = parseEnvelope(sealed)
      const key = find(kid)
      if (key === undefined)
        throw new SealBroken('sealed under a key that is not in the file of sealing keys')
      return { kid, text: decipher(key, name, Buffer.from(iv, 'base64'), Buffer.from(ct, 'base64')) }
    },
  }
}

/** What the tag covers beside the record. */
const boundTo = (name: string) => Buffer.from(name)

function parseEnvelope(sealed: string): z.output<typeof envelope> {
  try {
    return envelope.parse(JSON.parse(sealed))
  } catch {
    throw new SealBroken('not a sealed record')
  }
}

function decipher(key: Buffer, name: string, iv: Buffer, ct: Buffer): string {
  try {
    const tag = ct.subarray(-TAG_BYTES)
    const opened = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES })
      .setAAD(boundTo(name))
      .setAuthTag(tag)
    return Buffer.concat([opened.update(ct.subarray(0, -TAG_BYTES)), opened.final()]).toString('utf8')
  } catch {
    throw new SealBroken('sealed for another name, under another key of that id, or changed since')
  }
}

function parseKeys(path: string, text: string): Keys {
  const keys = new Map<string, Buffer>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const entry = line.trim()
    if (entry === '' || entry.startsWith('#')) continue
    const fault = (what: string) => new SealingKeysError(`${path} line ${index + 1}: ${what}`)
    const [, kid = '', encoded = ''] = /^([-.\w]{1,64}):([A-Za-z0-9+/]+=*)$/.exec(entry) ?? []
    if (kid === '') throw fault('must be <id>:<base64 of 32 bytes>, the id of letters, digits, - _ and .')
    const key = Buffer.from(encoded, 'base64')
    if (key.length !== KEY_BYTES) throw fault(`must hold 32 bytes in base64, and holds ${key.length}`)
    if (keys.has(kid)) throw fault('has an id that stands above already')
    keys.set(kid, key)
  }
  if (keys.size === 0) throw new SealingKeysError(`${path} has no key`)
  return keys
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new SealingKeysError(`${path} cannot be read: ${codeOf(error)}`)
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}
