/**
 * Conversations in Redis. The texts of a chain and the room of their owner are in different slots, so that no script can
 * access both. Room is taken before a text is written, freed after the text is removed, and lasts longer than the text:
 * even if a step fails, an owner never has more texts than the room counts. docs/redis.md describes the layout.
 */
import { z } from 'zod'
import type { Exchange, StateStore } from '../contract.ts'
import { chainPrefix, exchangeDigest, roomKeys } from '../keys.ts'
import type { KeyRing } from '../sealing.ts'
import type { RedisConnection } from './connection.ts'
import { lifetime } from './lifetime.ts'
import { stored } from './replies.ts'

/** A text may have megabytes. */
const TEXT_MS = 3_000
/** How much longer room lasts than its text: more than the delay of a command and the difference of servers' clocks. */
const ROOM_LONGER_MS = 60_000
/** Expired room is freed in steps, so that none keeps the server busy for long. */
const FREED_AT_ONCE = 1_000

const takeReply = z.enum(['OK', 'FULL', 'AGAIN'])
const chainReply = z.array(z.string()).nullable()
/** First line of the sealed text; the exchange follows. */
const sealedHead = z.tuple([z.string(), z.string().nullable()])

export function createRedisConversations(
  connection: RedisConnection,
  ring: KeyRing,
): Pick<StateStore, 'putExchange' | 'exchanges' | 'exchange' | 'removeExchange'> {
  async function takeRoom(
    owner: string,
    digest: string,
    bytes: { text: number; most: number },
    ttlMs: number,
  ) {
    const args = [digest, bytes.text, bytes.most, lifetime(ttlMs) + ROOM_LONGER_MS, FREED_AT_ONCE]
    for (;;) {
      const reply = takeReply.parse(await connection.run('conversation/take', roomKeys(owner), args))
      if (reply !== 'AGAIN') return reply
    }
  }

  /** Extends the life of exchanges of one chain and reads them, in the order of `digests`. */
  async function renewed(owner: string, root: string, digests: string[], ttlMs: number) {
    const longer = lifetime(ttlMs) + ROOM_LONGER_MS
    await connection.run('conversation/extend', roomKeys(owner), [longer, ...digests])
    const keys = digests.map((digest) => `${chainPrefix(owner, root)}${digest}`)
    const texts = await Promise.all(
      keys.map((key) => connection.command(['GETEX', key, 'PX', lifetime(ttlMs)], TEXT_MS)),
    )
    return keys.map((key, i) => read(ring, key, root, stored.parse(texts[i])))
  }

  return {
    async putExchange(owner, exchange, ttlMs, { exchangeBytes, ownerBytes }) {
      const { id, root, parent, text } = exchange
      const bytes = Buffer.byteLength(text)
      if (bytes > exchangeBytes) return 'full'
      const digest = exchangeDigest(root, id)
      const room = await takeRoom(owner, digest, { text: bytes, most: ownerBytes }, ttlMs)
      if (room === 'FULL') return 'full'
      const key = `${chainPrefix(owner, root)}${digest}`
      const follows = parent === undefined ? '' : exchangeDigest(root, parent)
      const sealed = ring.seal(key, `${JSON.stringify([id, parent ?? null])}\n${text}`)
      // If this fails, the text may have been written: its room expires by itself.
      await connection.command(['SET', key, `${follows} ${sealed}`, 'PX', lifetime(ttlMs)], TEXT_MS)
      return 'kept'
    },
    async exchanges(owner, { root, id }, ttlMs, most) {
      const newest = `${chainPrefix(owner, root)}${exchangeDigest(root, id)}`
      const digests = chainReply.parse(await connection.run('conversation/chain', [newest], [most]))
      if (digests === null) return undefined
      const chain = await renewed(owner, root, digests.reverse(), ttlMs)
      return isChain(chain) ? chain : undefined
    },
    async exchange(owner, root, id, ttlMs) {
      const digest = exchangeDigest(root, id)
      // The room of an exchange that is gone must not be extended.
      const there = await connection.command(['EXISTS', `${chainPrefix(owner, root)}${digest}`])
      return there === 1 ? (await renewed(owner, root, [digest], ttlMs))[0] : undefined
    },
    async removeExchange(owner, root, id) {
      const digest = exchangeDigest(root, id)
      await connection.command(['DEL', `${chainPrefix(owner, root)}${digest}`])
      await connection.run('conversation/leave', roomKeys(owner), [digest])
    },
  }
}

/** Undefined for a text that was not sealed for this key, which depends on owner, root and id. */
function read(ring: KeyRing, key: string, root: string, value: string | null): Exchange | undefined {
  if (value === null) return undefined
  try {
    const { text: opened } = ring.open(key, value.slice(value.indexOf(' ') + 1))
    const end = opened.indexOf('\n')
    const [id, parent] = sealedHead.parse(JSON.parse(opened.slice(0, end)))
    return { id, root, ...(parent !== null && { parent }), text: opened.slice(end + 1) }
  } catch {
    return undefined
  }
}

/** The digests of parents are not sealed, so that each exchange is checked to continue the one before it. */
function isChain(chain: (Exchange | undefined)[]): chain is Exchange[] {
  return chain.every((exchange, i) => exchange !== undefined && exchange.parent === chain[i - 1]?.id)
}
