import { LRUCache } from 'lru-cache'
import type { Exchange, StateStore } from '../contract.ts'

/** What all conversations together may take of this process's memory, about, in bytes. */
const CAPACITY = 268_435_456
/** What an exchange takes beside its text: its ids and its places in the maps. */
const OVERHEAD = 1_024

interface Kept {
  exchange: Exchange
  owner: string
  /** Of its text. */
  bytes: number
  /** Milliseconds since the epoch. */
  ends: number
}

/** What one owner has stored; what has expired counts until somebody looks. */
interface Room {
  bytes: number
  keys: Set<string>
}

/** Stored conversations, in memory. `capacity`: bytes of all of them, about; the least used make room for others. */
export function createConversations(
  now: () => number,
  capacity = CAPACITY,
): Pick<StateStore, 'putExchange' | 'exchanges' | 'exchange' | 'removeExchange'> {
  const rooms = new Map<string, Room>()
  const kept = new LRUCache<string, Kept>({
    maxSize: capacity,
    sizeCalculation: ({ bytes }) => bytes + OVERHEAD,
    dispose: ({ owner, bytes }, key) => giveBack(owner, key, bytes),
  })

  function take(owner: string, key: string, bytes: number): void {
    const room = rooms.get(owner) ?? { bytes: 0, keys: new Set() }
    rooms.set(owner, room)
    room.bytes += bytes
    room.keys.add(key)
  }

  function giveBack(owner: string, key: string, bytes: number): void {
    const room = rooms.get(owner)
    if (room === undefined) return
    room.bytes -= bytes
    room.keys.delete(key)
    if (room.keys.size === 0) rooms.delete(owner)
  }

  function forgetIfEnded(key: string): void {
    const found = kept.peek(key)
    if (found !== undefined && found.ends <= now()) kept.delete(key)
  }

  function live(key: string): Kept | undefined {
    forgetIfEnded(key)
    return kept.get(key)
  }

  /** Whether an owner's texts would be within `most` bytes, with `more` for the text under `key`. */
  function fits(owner: string, key: string, more: number, most: number): boolean {
    const replaced = live(key)?.bytes ?? 0
    const sum = () => (rooms.get(owner)?.bytes ?? 0) - replaced + more
    if (sum() <= most) return true
    rooms.get(owner)?.keys.forEach(forgetIfEnded)
    return sum() <= most
  }

  return {
    async putExchange(owner, exchange, ttlMs, { exchangeBytes, ownerBytes }) {
      const bytes = Buffer.byteLength(exchange.text)
      const key = keyOf(owner, exchange.root, exchange.id)
      if (bytes > exchangeBytes || bytes + OVERHEAD > capacity || !fits(owner, key, bytes, ownerBytes))
        return 'full'
      // Gives back the room of what it replaces, and of what must go for it.
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

/** Ids are any text, so that nothing could stand between them that is in none. */
function keyOf(owner: string, root: string, id: string): string {
  return JSON.stringify([owner, root, id])
}
