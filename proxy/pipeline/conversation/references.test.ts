import { describe, expect, test } from 'vitest'
import {
  type Exchange,
  RecordUnreadable,
  type ResponseBinding,
  type StateStore,
  StoreUnavailable,
} from '../../../store/contract.ts'
import { createChains } from '../../dialects/responses/chains/index.ts'
import { parseRequest } from '../../dialects/responses/request.ts'
import { StoreTime } from '../../ledger/store-time.ts'
import { resolveItemReferences } from './references.ts'
import { writeExchange } from './stored-exchange.ts'

const OWNER = 'o'
const LIMITS = { maxDepth: 64, maxKeys: 100_000 }
const chains = createChains(parseRequest)
const TTL_MS = 3_600_000

const answerId = (n: number) => String(n).padStart(24, 'A')
const itemIdOf = (n: number) => `msg_${answerId(n)}00`
const text = (n: number, content = `text ${n}`) =>
  `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"${content}"}]}`
const responseOf = (n: number, content?: string) =>
  `{"id":"resp_${answerId(n)}","output":[${text(n, content).replace('{', `{"id":"${itemIdOf(n)}",`)}]}`
const BINDING: ResponseBinding = {
  channel: 'default/a',
  upstreamId: 'u',
  native: false,
  contextTokens: 1,
  root: 'root',
}

interface Stored {
  native?: boolean
  content?: string
}

/** With `held`, reads are answered after a call of `release`. */
function store(stored: Map<number, Stored>, held = false) {
  const calls: string[] = []
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  if (!held) release()
  const find = (id: string) =>
    [...stored].find(([n]) => id === `resp_${answerId(n)}`) as [number, Stored] | undefined
  const state: Partial<StateStore> = {
    async response(owner, id) {
      calls.push(`response ${owner}`)
      await released
      const found = find(id)
      return found && { ...BINDING, native: found[1].native ?? false }
    },
    async exchange(owner, root, id, ttlMs): Promise<Exchange | undefined> {
      calls.push(`exchange ${owner} ${root} ${ttlMs}`)
      await released
      const found = find(id)
      if (found === undefined) return undefined
      const response = responseOf(found[0], found[1].content)
      return { id, root, text: writeExchange({ input: [], output: [], response }) }
    },
    async keepResponse(owner, id, ttlMs) {
      calls.push(`keep ${owner} ${id} ${ttlMs}`)
    },
  }
  return { calls, release, state: state as StateStore }
}

const MAX_BODY_BYTES = 100_000

async function resolved(state: StateStore, names: readonly (number | string)[], time = new StoreTime(5_000)) {
  const input = names.map((name) => ({
    type: 'item_reference',
    id: typeof name === 'string' ? name : itemIdOf(name),
  }))
  const request = parseRequest(Buffer.from(JSON.stringify({ model: 'm', input })), LIMITS)
  const conversations = {
    state,
    limits: { ttlMs: TTL_MS, bindingTtlMs: 2 * TTL_MS, exchangeBytes: 1_000, ownerBytes: 10_000 },
    requests: {
      maxBodyBytes: MAX_BODY_BYTES,
      maxUploadBytes: 0,
      maxInflatedBytes: 0,
      maxAnswerBytes: 0,
      maxEventBytes: 0,
      json: {
        maxDepth: LIMITS.maxDepth,
        maxKeys: LIMITS.maxKeys,
        maxValues: 1_000_000,
        form: { maxParts: 0, maxFiles: 0, maxFileBytes: 0, maxFieldBytes: 0 },
      },
      endpointBytes: new Map<string, number>(),
      streamKeepAliveMs: 0,
      clientStallMs: 0,
    },
  }
  const references = { conversations, chains, time, owner: OWNER }
  const answer = await resolveItemReferences(references, request, chains.position(request))
  return { request, answer, body: answer.body.toString() }
}

const many = (count: number, stored: Stored = {}) =>
  new Map(Array.from({ length: count }, (_, n) => [n, stored] as const))

test('a kept item replaces its reference, other references stay', async () => {
  const { state, calls } = store(many(2))
  const { body } = await resolved(state, [1, 7, 0, 1])
  expect(body).toBe(
    `{"model":"m","input":[${text(1)},{"type":"item_reference","id":"${itemIdOf(7)}"},${text(0)},${text(1)}]}`,
  )
  // Each answer is read once.
  expect(calls.filter((what) => what === 'response o')).toHaveLength(3)
  expect(calls.filter((what) => what === `exchange o root ${TTL_MS}`)).toHaveLength(2)
})

test('the lifetime of a used item is extended, unless the upstream keeps it', async () => {
  const { state, calls } = store(
    new Map<number, Stored>([
      [0, {}],
      [1, { native: true }],
    ]),
  )
  await resolved(state, [0, 1])
  expect(calls.filter((what) => what.startsWith('keep'))).toEqual([`keep o resp_${answerId(0)} ${TTL_MS}`])
})

test('a failure to extend a lifetime does not prevent the replacement', async () => {
  const { state } = store(many(1))
  const failing = { ...state, keepResponse: async () => Promise.reject(new StoreUnavailable('away')) }
  expect((await resolved(failing, [0])).body).toBe(`{"model":"m","input":[${text(0)}]}`)
})

test('the store is read for all references at once, up to 64', async () => {
  const { state, calls, release } = store(many(70), true)
  const numbers = Array.from({ length: 70 }, (_, n) => n)
  const answer = resolved(state, numbers)
  await expect.poll(() => calls.length).toBe(64)
  release()
  const { body } = await answer
  expect(calls.filter((what) => what.startsWith('exchange'))).toHaveLength(64)
  expect(body).toContain('text 63"')
  expect(body).not.toContain('text 64"')
})

test('many answers take no more of the request’s store time than one', async () => {
  const { state } = store(many(64))
  const slow = { ...state, response: after(30, state.response.bind(state)) }
  const time = new StoreTime(1_000)
  await resolved(
    slow,
    Array.from({ length: 64 }, (_, n) => n),
    time,
  )
  expect(time.leftMs).toBeGreaterThan(500)
})

test('a request without ids of the gateway reads nothing', async () => {
  const { state, calls } = store(many(1))
  const { request, answer } = await resolved(state, ['msg_of_an_upstream'])
  expect(answer).toBe(request)
  expect(calls).toEqual([])
})

describe('a store', () => {
  const failing = (method: 'response' | 'exchange', error: Error) => {
    const { state } = store(many(2))
    const real = state[method].bind(state) as (...args: string[]) => Promise<unknown>
    const first = `resp_${answerId(0)}`
    const fails = async (...args: string[]) => {
      if (args.includes(first)) throw error
      return real(...args)
    }
    return { ...state, [method]: fails } as StateStore
  }

  test('with an unreadable binding still has the others', async () => {
    const { body } = await resolved(failing('response', new RecordUnreadable('x')), [0, 1])
    expect(body).toContain('text 1"')
    expect(body).not.toContain('text 0"')
  })

  test.each(['response', 'exchange'] as const)('that is away is 503: %s', async (method) => {
    await expect(resolved(failing(method, new StoreUnavailable('x')), [0, 1])).rejects.toMatchObject({
      code: 'store_unavailable',
    })
  })

  test('for which no time is left is 503', async () => {
    await expect(resolved(store(many(1)).state, [0], new StoreTime(0))).rejects.toMatchObject({
      code: 'store_unavailable',
    })
  })
})

describe('size', () => {
  test('of the replaced items is limited like that of a request', async () => {
    const { state } = store(many(1, { content: 'x'.repeat(1_000) }))
    const times = (n: number) => Array.from({ length: n }, () => 0)
    expect((await resolved(state, times(80))).body.length).toBeGreaterThan(80_000)
    await expect(resolved(state, times(100))).rejects.toMatchObject({
      code: 'request_too_large',
      param: 'input',
    })
  })

  test('is counted in bytes', async () => {
    const { state } = store(many(1, { content: '\u{1F600}'.repeat(15_000) }))
    await expect(resolved(state, [0, 0])).rejects.toMatchObject({ code: 'request_too_large' })
  })
})

/** Takes `ms` for each call. */
function after<A extends unknown[], R>(ms: number, run: (...args: A) => Promise<R>) {
  return async (...args: A): Promise<R> => {
    await new Promise((resolve) => setTimeout(resolve, ms))
    return run(...args)
  }
}
