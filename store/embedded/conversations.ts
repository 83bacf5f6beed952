import { LRUCache } from 'lru-cache'
import type { Exchange, StateStore } from '../contract.ts'

/** Approximate memory for all conversations together, in bytes. */
const CAPACITY = 268_435_456
/** Bytes that an exchange takes in addition to its text: its ids and map entries. */
const OVERHEAD = 1_024

interface Kept {
  exchange: Exchange
  owner: string
  /** Size of the text. */
  bytes: number
  /** Milliseconds since the epoch. */
  ends: number
}

/** Room that one owner takes. Expired exchanges count until the next look-up finds them. */
interface Room {
  bytes: number
  keys: Set<string>
}

/** Conversations in memory. `capacity`: approximate bytes of all of them; the least recently used make room for others. */
export function createConversations(
  now: () => number,
  capacity = CAPACITY,
): Pick<StateStore, 'putExchange' | 'exchanges' | 'exchange' | 'removeExchange'> {
  const rooms = new Map<string, Room>()
  const kept = new LRUCache<string, Kept>({
    maxSize: capacity,
    sizeCalculation: ({ bytes }) => bytes + OVERHEAD,
    dispose: ({ owner, bytes }, key) => free(owner, key, bytes),
  })

  function take(owner: string, key: string, bytes: number): void {
    const room = rooms.get(owner) ?? { bytes: 0, keys: new Set() }
    rooms.set(owner, room)
    room.bytes += bytes
    room.keys.add(key)
  }

  function free(owner: string, key: string, bytes: number): void {
    const room = rooms.get(owner)
    if (room === undefined) return
    room.bytes -= bytes
    room.keys.delete(key)
    if (room.keys.size === 0) rooms.delete(owner)
  }

  function removeIfExpired(key: string): void {
    const found = kept.peek(key)
    if (found !== undefined && found.ends <= now()) kept.delete(key)
  }

  function live(key: string): Kept | undefined {
    removeIfExpired(key)
    return kept.get(key)
  }

  /** Whether the owner's texts stay within `most` bytes if the text under `key` has `more` bytes. */
  function fits(owner: string, key: string, more: number, most: number): boolean {
    const replaced = live(key)?.bytes ?? 0
    const sum = () => (rooms.get(owner)?.bytes ?? 0) - replaced + more
    if (sum() <= most) return true
    rooms.get(owner)?.keys.forEach(removeIfExpired)
    return sum() <= most
  }

  return {
    async putExchange(owner, exchange, ttlMs, { exchangeBytes, ownerBytes }) {
      const bytes = Buffer.byteLength(exchange.text)
      const key = keyOf(owner, exchange.root, exchange.id)
      if (bytes > exchangeBytes || bytes + OVERHEAD > capacity || !fits(owner, key, bytes, ownerBytes))
        return 'full'
      // `set` also frees the room of the exchange that it replaces and of those that it evicts.
      kept.set(key, { exchange: Object.freeze({ ...exchange }), owner, bytes, ends: now() + ttlMs })
      take(owner, key, bytes)
      return 'kept'
    },
    async exchanges(owner, root, id, ttlMs, most) {
      // Newest first.
      const chain = new Map<string, Kept>()
      for (let next: string | undefined = id; next !== undefined; ) {
        const key = keyOf(owner, root, next)
        const found = live(key)
        if (found === undefined || chain.has(key) || chain.size >= most) return undefined
        chain.set(key, found)
        next = found.exchange.parent
      }
      const ends = now() + ttlMs
      for (const each of chain.values()) each.ends = ends
      return [...chain.values()].map(({ exchange }) => exchange).reverse()
    },
    async exchange(owner, root, id, ttlMs) {
      const found = live(keyOf(owner, root, id))
      if (found === undefined) return undefined
      found.ends = now() + ttlMs
      return found.exchange
    },
    async removeExchange(owner, root, id) {
      kept.delete(keyOf(owner, root, id))
    },
  }
}

/** JSON, because ids may contain any separator. */
function keyOf(owner: string, root: string, id: string): string {
  return JSON.stringify([owner, root, id])
}
