/** Conversations under random work, compared with a model that keeps everything. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Exchange } from '../../../store/contract.ts'
import type { Current } from './under-test.ts'

const TTL_MS = 600_000
/** How long a store may count an expired text against its owner. */
const ROOM_BACK_MS = 60_000
const MOST = 4
const ROOM = { exchangeBytes: 30, ownerBytes: 60 }
/** No short sum of these equals the lifetime of a text: behavior in its last millisecond is undefined. */
const WAITS_MS = [1_001, TTL_MS / 2 + 7, TTL_MS - 997, TTL_MS + 11, TTL_MS + ROOM_BACK_MS + 101]

type Step =
  | { type: 'put'; owner: number; exchange: Exchange }
  | { type: 'read' | 'one' | 'remove'; owner: number; root: string; id: string }
  | { type: 'wait'; ms: number }

const owner = fc.nat(1)
const root = fc.constantFrom('a', 'a', '{b}')
const id = fc.constantFrom('a', '{b}', 'c', 'd', 'e', 'f')
const text = fc.oneof(fc.string({ maxLength: 12 }), fc.string({ unit: 'grapheme', maxLength: 12 }))
const exchange = fc
  .record({ id, root, parent: fc.option(id, { nil: undefined }), text })
  .map(({ parent, ...rest }): Exchange => ({ ...rest, ...(parent !== undefined && { parent }) }))

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ type: fc.constant('put' as const), owner, exchange }) },
    { weight: 5, arbitrary: fc.record({ type: fc.constant('read' as const), owner, root, id }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('one' as const), owner, root, id }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('remove' as const), owner, root, id }) },
    {
      weight: 2,
      arbitrary: fc.record({ type: fc.constant('wait' as const), ms: fc.constantFrom(...WAITS_MS) }),
    },
  ),
  { minLength: 1, maxLength: 40, size: 'max' },
)

let runs = 0

/** Each run has its own owners, so it starts empty. */
export function conversationProperty(current: Current) {
  return fc.asyncProperty(steps, async (work) => {
    const { store, advance } = current()
    const run = runs++
    const model = new Model()
    for (const step of work) {
      if (step.type === 'wait') {
        model.now += step.ms
        await advance(step.ms)
        continue
      }
      const of = `o${run}-${step.owner}`
      if (step.type === 'put') {
        const reply = await store.state.putExchange(of, step.exchange, TTL_MS, ROOM)
        model.put(of, step.exchange, reply)
      } else if (step.type === 'read') {
        const chain = await store.state.exchanges(of, { root: step.root, id: step.id }, TTL_MS, MOST)
        assert.deepEqual(chain, model.read(of, step.root, step.id))
      } else if (step.type === 'one') {
        const found = await store.state.exchange(of, step.root, step.id, TTL_MS)
        assert.deepEqual(found, model.one(of, step.root, step.id))
      } else {
        await store.state.removeExchange(of, step.root, step.id)
        model.remove(of, step.root, step.id)
      }
    }
  })
}

interface Entry {
  owner: string
  exchange: Exchange
  ends: number
}

class Model {
  now = 0
  #entries: Entry[] = []

  /** Fails if the reply is not allowed. */
  put(owner: string, exchange: Exchange, reply: 'kept' | 'full'): void {
    const others = this.#entries.filter((entry) => entry !== this.#find(owner, exchange.root, exchange.id))
    const bytes = new TextEncoder().encode(exchange.text).length
    const sum = (since: number) =>
      others
        .filter((entry) => entry.owner === owner && entry.ends > since)
        .reduce((all, entry) => all + new TextEncoder().encode(entry.exchange.text).length, bytes)
    if (bytes > ROOM.exchangeBytes || sum(this.now) > ROOM.ownerBytes) assert.equal(reply, 'full')
    else if (sum(this.now - ROOM_BACK_MS) <= ROOM.ownerBytes) assert.equal(reply, 'kept')
    if (reply === 'kept') this.#entries = [...others, { owner, exchange, ends: this.now + TTL_MS }]
  }

  read(owner: string, root: string, id: string): Exchange[] | undefined {
    const chain: Entry[] = []
    for (let next: string | undefined = id; next !== undefined; ) {
      const found = this.#find(owner, root, next)
      if (found === undefined || found.ends <= this.now || chain.length === MOST) return undefined
      chain.unshift(found)
      next = found.exchange.parent
    }
    for (const entry of chain) entry.ends = this.now + TTL_MS
    return chain.map((entry) => entry.exchange)
  }

  one(owner: string, root: string, id: string): Exchange | undefined {
    const found = this.#find(owner, root, id)
    if (found === undefined || found.ends <= this.now) return undefined
    found.ends = this.now + TTL_MS
    return found.exchange
  }

  remove(owner: string, root: string, id: string): void {
    this.#entries = this.#entries.filter((entry) => entry !== this.#find(owner, root, id))
  }

  #find(owner: string, root: string, id: string): Entry | undefined {
    return this.#entries.find(
      (entry) => entry.owner === owner && entry.exchange.root === root && entry.exchange.id === id,
    )
  }
}
