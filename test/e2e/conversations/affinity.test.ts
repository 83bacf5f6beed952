/** Which channel serves: what was served before stays where it was, as long as that is there. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../../harness/gateway.ts'
import { call } from '../../harness/http.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { json } from '../../harness/upstream.ts'
import { answerBody } from '../dialects/scripted-upstream.ts'
import { type EchoUpstream, echo, startEchoUpstream } from './echo-upstream.ts'

const KEY = 'sk-affinity-0123456789'
const OTHER = 'sk-affinity-9876543210'
/** By chance alone, so many requests go to one of two channels once in a billion runs. */
const MANY = 30

let one: EchoUpstream
let two: EchoUpstream
let gateway: RunningGateway

beforeAll(async () => {
  one = await startEchoUpstream()
  two = await startEchoUpstream()
  const channels = Object.entries({ one, two }).map(([name, { baseURL }]) =>
    ['chat_completion', 'responses']
      .map((type) => channel(`${name}-${type.slice(0, 4)}`, baseURL, { type }))
      .join(''),
  )
  const pair = (type: string) => [`one-${type}`, `two-${type}`]
  gateway = await startGateway({
    'all.yaml': [
      apiKey('key', KEY),
      apiKey('other', OTHER),
      ...channels,
      route('none', 'none', pair('chat')),
      route('session', 'session', pair('chat'), { affinity: { mode: 'Session' } }),
      route('native', 'native', pair('resp')),
    ].join(''),
  })
})
afterAll(async () => {
  await gateway?.stop()
  await one?.close()
  await two?.close()
})

interface Asked {
  model: string
  key?: string
  headers?: Record<string, string>
  more?: object
  path?: 'chat/completions' | 'responses'
}

async function ask({ model, key = KEY, headers = {}, more = {}, path = 'chat/completions' }: Asked) {
  const before = one.calls.length
  const content = [{ role: 'user', content: 'Hi' }]
  const body = { model, ...(path === 'responses' ? { input: content } : { messages: content }), ...more }
  const { status, text } = await call(`${gateway.base}/v1/${path}`, {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
  })
  expect([status, text]).toEqual([200, expect.any(String)])
  return { by: one.calls.length > before ? 'one' : 'two', answer: JSON.parse(text) as { id: string } }
}

async function servedBy(asked: Asked, times = MANY): Promise<string[]> {
  const names = new Set<string>()
  for (let i = 0; i < times; i++) names.add((await ask(asked)).by)
  return [...names].sort()
}

describe('a session stays at its channel', () => {
  it.each([
    ['x-session-affinity', 'a'],
    ['x-claude-code-session-id', 'b'],
    ['session-id', 'c'],
    ['session_id', 'd'],
    ['thread-id', 'e'],
  ])('by the header %s', async (name, value) => {
    expect(await servedBy({ model: 'session', headers: { [name]: value } })).toHaveLength(1)
  })

  it('by prompt_cache_key, which a header goes before', async () => {
    expect(await servedBy({ model: 'session', more: { prompt_cache_key: 'k' } })).toHaveLength(1)
    const sessions = new Set<string>()
    for (let i = 0; i < MANY; i++) {
      const headers = { 'x-session-affinity': `s${i}` }
      sessions.add((await ask({ model: 'session', headers, more: { prompt_cache_key: 'k' } })).by)
    }
    expect(sessions.size).toBe(2)
  })

  it('not where the route does not say so, and not without a name', async () => {
    expect(await servedBy({ model: 'none', headers: { 'x-session-affinity': 'a' } })).toEqual(['one', 'two'])
    expect(await servedBy({ model: 'session' })).toEqual(['one', 'two'])
  })

  it('each owner has sessions of its own', async () => {
    const places = new Set<string>()
    for (let i = 0; i < MANY; i++) {
      const headers = { 'x-session-affinity': `shared-${i}` }
      const mine = await ask({ model: 'session', headers })
      const theirs = await ask({ model: 'session', key: OTHER, headers })
      places.add(`${mine.by} ${theirs.by}`)
    }
    expect(places.size).toBeGreaterThan(2)
  })

  it('moves when its channel fails, and stays where it went', async () => {
    const headers = { 'x-session-affinity': 'moving' }
    const { by } = await ask({ model: 'session', headers })
    const [failing, other] = by === 'one' ? [one, two] : [two, one]
    failing.answer((_, res) => void res.writeHead(500).end())
    const before = other.calls.length
    await ask({ model: 'session', headers })
    failing.answer(echo(failing.stored))
    expect(other.calls.length).toBe(before + 1)
    expect(await servedBy({ model: 'session', headers }, 10)).toEqual([other === one ? 'one' : 'two'])
  })
})

describe('what only one upstream can read goes where it came from', () => {
  /** Answers with a thought that is sealed for this upstream alone. */
  const thinks = (secret: string) => (reader: EchoUpstream) =>
    reader.answer((_, res) =>
      json(
        res,
        200,
        answerBody('responses', { reasoning: 'T', opaque: `${secret}-${reader.calls.length}`, text: 'x' }),
      ),
    )

  it('encrypted reasoning, before the chain and chance', async () => {
    thinks('ENC-ONE')(one)
    thinks('ENC-TWO')(two)
    for (let i = 0; i < 10; i++) {
      const { by, answer } = await ask({ model: 'native', path: 'responses', more: { store: false } })
      const { output } = answer as unknown as { output: object[] }
      const input = [...output, { role: 'user', content: 'more' }]
      const more = { input, store: false }
      expect(await servedBy({ model: 'native', path: 'responses', more }, 5)).toEqual([by])
    }
  })

  it('items that it keeps, by their ids, for those alone who were given them', async () => {
    for (const [name, reader] of Object.entries({ one, two }))
      reader.answer((_, res) => {
        const body = JSON.stringify(answerBody('responses', { text: 'x' }))
        json(res, 200, JSON.parse(body.replaceAll('msg_', `msg_${name}_${reader.calls.length}_`)) as object)
      })
    for (let i = 0; i < 10; i++) {
      const { by, answer } = await ask({ model: 'native', path: 'responses' })
      const [item] = (answer as unknown as { output: { id: string }[] }).output
      const input = [
        { type: 'item_reference', id: item?.id },
        { role: 'user', content: 'more' },
      ]
      expect(await servedBy({ model: 'native', path: 'responses', more: { input } }, 3)).toEqual([by])
      const before = one.calls.length + two.calls.length
      const foreign = await call(`${gateway.base}/v1/responses`, {
        body: JSON.stringify({ model: 'native', input }),
        headers: { 'content-type': 'application/json', authorization: `Bearer ${OTHER}` },
      })
      expect(foreign.status).toBe(400)
      expect(one.calls.length + two.calls.length).toBe(before)
    }
  })
})
