/**
 * Seals records for a store that others can read: AES-256-GCM with a key from a file, bound to the name under which the
 * record is stored, so that records cannot be swapped.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Log } from '../contract/log.ts'
import { jsonOf } from '../contract/text.ts'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
/** 96 bits, random for each record (NIST SP 800-38D 8.2.2). */
const IV_BYTES = 12
const TAG_BYTES = 16
const LOOK_MS = 2_000
/** Without this limit, every record under an unknown key would read the file. */
const LOOK_AT_ONCE_MS = 500

export interface KeyRing {
  /** Id of the key that seals now: the first in the file. */
  sealsWith(): string
  /** Seals a text that will be stored under `name`. */
  seal(name: string, text: string): string
  /** Returns the text and the id of its key. Throws SealBroken if it cannot be opened under this name. */
  open(name: string, sealed: string): { text: string; kid: string }
}

/** Not sealed with a key of the ring, sealed for another name, or changed since. */
export class SealBroken extends Error {
  override name = 'SealBroken'
}

/** The file of sealing keys is invalid. The message says where and never quotes the file. */
export class SealingKeysError extends Error {
  override name = 'SealingKeysError'
}

/** Keys by id; the first one seals. */
type Keys = ReadonlyMap<string, Buffer>

/** The stored form: the key's id, the IV, and the ciphertext followed by the tag, in base64. */
const envelope = z.object({ kid: z.string(), iv: z.base64(), ct: z.base64() })

/**
 * Reads a file of lines `<id>:<base64 of 32 bytes>`; the first key seals, all of them open. Empty lines and lines that
 * begin with # are skipped. The file is read again every two seconds, and earlier for a record with an unknown key id. If
 * it has become invalid, the keys stay and one error is logged. Throws SealingKeysError.
 */
export function readKeyRing(path: string, log: Log): KeyRing {
  /** The text read last; empty if there was no file. */
  let seen = read(path)
  let keys = parseKeys(path, seen)
  let lookedAt = performance.now()

  // Compares contents, not times: kubelet updates a mounted Secret by switching a link to another file.
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
      log.error({ err: error }, 'sealing keys cannot be read again; the previous ones stay in use')
    }
    seen = found
  }

  // Also when idle: an operator who rotates a key waits until every program logs that it has the new one.
  setInterval(look, LOOK_MS).unref()

  function first(): [kid: string, key: Buffer] {
    for (const entry of keys) return entry
    throw new SealingKeysError(`${path} contains no key`)
  }

  return ringOf(first, (kid) => {
    if (!keys.has(kid) && performance.now() - lookedAt >= LOOK_AT_ONCE_MS) look()
    return keys.get(kid)
  })
}

/** A ring of one random key, for a store that lasts as long as the process. */
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
      const { data } = envelope.safeParse(jsonOf(sealed))
      if (data === undefined) throw new SealBroken('not a sealed record')
      const { kid, iv, ct } = data
      const key = find(kid)
      if (key === undefined) throw new SealBroken('sealed with a key that is not in the file of sealing keys')
      return { kid, text: decipher(key, name, Buffer.from(iv, 'base64'), Buffer.from(ct, 'base64')) }
    },
  }
}

/** Additional data that the tag covers. */
const boundTo = (name: string) => Buffer.from(name)

function decipher(key: Buffer, name: string, iv: Buffer, ct: Buffer): string {
  try {
    const tag = ct.subarray(-TAG_BYTES)
    const opened = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES })
      .setAAD(boundTo(name))
      .setAuthTag(tag)
    return Buffer.concat([opened.update(ct.subarray(0, -TAG_BYTES)), opened.final()]).toString('utf8')
  } catch {
    throw new SealBroken('sealed for another name, with another key of the same id, or changed since')
  }
}

function parseKeys(path: string, text: string): Keys {
  const keys = new Map<string, Buffer>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const entry = line.trim()
    if (entry === '' || entry.startsWith('#')) continue
    const fault = (problem: string) => new SealingKeysError(`${path} line ${index + 1}: ${problem}`)
    const [, kid = '', encoded = ''] = /^([-.\w]{1,64}):([A-Za-z0-9+/]+=*)$/.exec(entry) ?? []
    if (kid === '') throw fault('must be <id>:<base64 of 32 bytes>; an id has letters, digits, - _ and .')
    const key = Buffer.from(encoded, 'base64')
    if (key.length !== KEY_BYTES) throw fault(`the key must have 32 bytes in base64, but has ${key.length}`)
    if (keys.has(kid)) throw fault('has an id that an earlier line has')
    keys.set(kid, key)
  }
  if (keys.size === 0) throw new SealingKeysError(`${path} contains no key`)
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
