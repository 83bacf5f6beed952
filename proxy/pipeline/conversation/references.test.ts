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

/** What is asked is answered once `release` was called. */
function store(stored: Map<number, Stored>, held = false) {
  const asked: string[] = []
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  if (!held) release()
  const find = (id: string) =>
    [...stored].find(([n]) => id === `resp_${answerId(n)}`) as [number, Stored] | undefined
  const state: Partial<StateStore> = {
    async response(owner, id) {
      asked.push(`response ${owner}`)
      await released
      const found = find(id)
      return found && { ...BINDING, native: found[1].native ?? false }
    },
    async exchange(owner, root, id, ttlMs): Promise<Exchange | undefined> {
      asked.push(`exchange ${owner} ${root} ${ttlMs}`)
      await released
      const found = find(id)
      if (found === undefined) return undefined
      const response = responseOf(found[0], found[1].content)
      return { id, root, text: writeExchange({ input: [], output: [], response }) }
    },
    async keepResponse(owner, id, ttlMs) {
      asked.push(`keep ${owner} ${id} ${ttlMs}`)
    },
  }
  return { asked, release, state: state as StateStore }
}

const MAX_BODY_BYTES = 100_000

async function said(state: StateStore, names: readonly (number | string)[], time = new StoreTime(5_000)) {
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
      maxJsonDepth: LIMITS.maxDepth,
      maxJsonKeys: LIMITS.maxKeys,
      maxJsonValues: 1_000_000,
      form: { maxParts: 0, maxFiles: 0, maxFileBytes: 0, maxFieldBytes: 0 },
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

test('what was kept is said in its place, what was not stays as it is', async () => {
  const { state, asked } = store(many(2))
  const { body } = await said(state, [1, 7, 0, 1])
  expect(body).toBe(
    `{"model":"m","input":[${text(1)},{"type":"item_reference","id":"${itemIdOf(7)}"},${text(0)},${text(1)}]}`,
  )
  // Each answer is looked for once.
  expect(asked.filter((what) => what === 'response o')).toHaveLength(3)
  expect(asked.filter((what) => what === `exchange o root ${TTL_MS}`)).toHaveLength(2)
})

test('what was needed lives longer, but where the upstream keeps it', async () => {
  const { state, asked } = store(
    new Map<number, Stored>([
      [0, {}],
      [1, { native: true }],
    ]),
  )
  await said(state, [0, 1])
  expect(asked.filter((what) => what.startsWith('keep'))).toEqual([`keep o resp_${answerId(0)} ${TTL_MS}`])
})

test('that its time cannot be renewed keeps nothing from being said', async () => {
  const { state } = store(many(1))
  const failing = { ...state, keepResponse: async () => Promise.reject(new StoreUnavailable('away')) }
  expect((await said(failing, [0])).body).toBe(`{"model":"m","input":[${text(0)}]}`)
})

test('the store is asked for all at the same time, and for 64 at most', async () => {
  const { state, asked, release } = store(many(70), true)
  const numbers = Array.from({ length: 70 }, (_, n) => n)
  const answer = said(state, numbers)
  await expect.poll(() => asked.length).toBe(64)
  release()
  const { body } = await answer
  expect(asked.filter((what) => what.startsWith('exchange'))).toHaveLength(64)
  expect(body).toContain('text 63"')
  expect(body).not.toContain('text 64"')
})

test('many answers take no more of the time of a request than one', async () => {
  const { state } = store(many(64))
  const slow = { ...state, response: after(30, state.response.bind(state)) }
  const time = new StoreTime(1_000)
  await said(
    slow,
    Array.from({ length: 64 }, (_, n) => n),
    time,
  )
  expect(time.leftMs).toBeGreaterThan(500)
})

test('a request that names nothing of the gateway asks for nothing', async () => {
  const { state, asked } = store(many(1))
  const { request, answer } = await said(state, ['msg_of_an_upstream'])
  expect(answer).toBe(request)
  expect(asked).toEqual([])
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

  test('with a binding that cannot be read has the others', async () => {
    const { body } = await said(failing('response', new RecordUnreadable('x')), [0, 1])
    expect(body).toContain('text 1"')
    expect(body).not.toContain('text 0"')
  })

  test.each(['response', 'exchange'] as const)('that is away is 503: %s', async (method) => {
    await expect(said(failing(method, new StoreUnavailable('x')), [0, 1])).rejects.toMatchObject({
      code: 'store_unavailable',
    })
  })

  test('of which there is no time left is 503', async () => {
    await expect(said(store(many(1)).state, [0], new StoreTime(0))).rejects.toMatchObject({
      code: 'store_unavailable',
    })
  })
})

describe('size', () => {
  test('a few names may not stand for more than a request may hold', async () => {
    const { state } = store(many(1, { content: 'x'.repeat(1_000) }))
    const times = (n: number) => Array.from({ length: n }, () => 0)
    expect((await said(state, times(80))).body.length).toBeGreaterThan(80_000)
    await expect(said(state, times(100))).rejects.toMatchObject({ code: 'request_too_large', param: 'input' })
  })

  test('is in bytes', async () => {
    const { state } = store(many(1, { content: '\u{1F600}'.repeat(15_000) }))
    await expect(said(state, [0, 0])).rejects.toMatchObject({ code: 'request_too_large' })
  })
})

/** Takes so long for each. */
function after<A extends unknown[], R>(ms: number, run: (...args: A) => Promise<R>) {
  return async (...args: A): Promise<R> => {
    await new Promise((resolve) => setTimeout(resolve, ms))
    return run(...args)
  }
}
