/** Affinity: sessions and conversations stay on their channel as long as it works. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../../harness/gateway.ts'
import { call } from '../../harness/http.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { json } from '../../harness/upstream.ts'
import { answerBody } from '../dialects/scripted-upstream.ts'
import { type EchoUpstream, echo, startEchoUpstream } from './echo-upstream.ts'

const KEY = 'sk-affinity-0123456789'
const OTHER = 'sk-affinity-9876543210'
/** Without affinity, so many requests all go to one of two channels once in a billion runs. */
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

interface AskOptions {
  model: string
  key?: string
  headers?: Record<string, string>
  more?: object
  path?: 'chat/completions' | 'responses'
}

async function ask({ model, key = KEY, headers = {}, more = {}, path = 'chat/completions' }: AskOptions) {
  const before = one.calls.length
  const content = [{ role: 'user', content: 'Hi' }]
  const body = { model, ...(path === 'responses' ? { input: content } : { messages: content }), ...more }
  const { status, text } = await call(`${gateway.base}/v1/${path}`, {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
  })
  expect([status, text]).toEqual([200, expect.any(String)])
  return { channel: one.calls.length > before ? 'one' : 'two', answer: JSON.parse(text) as { id: string } }
}

async function servedBy(options: AskOptions, times = MANY): Promise<string[]> {
  const names = new Set<string>()
  for (let i = 0; i < times; i++) names.add((await ask(options)).channel)
  return [...names].sort()
}

describe('a session stays on its channel', () => {
  it.each([
    ['x-session-affinity', 'a'],
    ['x-claude-code-session-id', 'b'],
    ['session-id', 'c'],
    ['session_id', 'd'],
    ['thread-id', 'e'],
  ])('by the header %s', async (name, value) => {
    expect(await servedBy({ model: 'session', headers: { [name]: value } })).toHaveLength(1)
  })

  it('by prompt_cache_key; a header takes precedence', async () => {
    expect(await servedBy({ model: 'session', more: { prompt_cache_key: 'k' } })).toHaveLength(1)
    const sessions = new Set<string>()
    for (let i = 0; i < MANY; i++) {
      const headers = { 'x-session-affinity': `s${i}` }
      sessions.add((await ask({ model: 'session', headers, more: { prompt_cache_key: 'k' } })).channel)
    }
    expect(sessions.size).toBe(2)
  })

  it('only if the route enables it and the session has a name', async () => {
    expect(await servedBy({ model: 'none', headers: { 'x-session-affinity': 'a' } })).toEqual(['one', 'two'])
    expect(await servedBy({ model: 'session' })).toEqual(['one', 'two'])
  })

  it('separately for each owner', async () => {
    const channels = new Set<string>()
    for (let i = 0; i < MANY; i++) {
      const headers = { 'x-session-affinity': `shared-${i}` }
      const mine = await ask({ model: 'session', headers })
      const theirs = await ask({ model: 'session', key: OTHER, headers })
      channels.add(`${mine.channel} ${theirs.channel}`)
    }
    expect(channels.size).toBeGreaterThan(2)
  })

  it('moves when its channel fails, and stays on the new one', async () => {
    const headers = { 'x-session-affinity': 'moving' }
    const { channel } = await ask({ model: 'session', headers })
    const [failing, other] = channel === 'one' ? [one, two] : [two, one]
    failing.answer((_, res) => void res.writeHead(500).end())
    const before = other.calls.length
    await ask({ model: 'session', headers })
    failing.answer(echo(failing.stored))
    expect(other.calls.length).toBe(before + 1)
    expect(await servedBy({ model: 'session', headers }, 10)).toEqual([other === one ? 'one' : 'two'])
  })
})

describe('content that only one upstream can read is returned to it', () => {
  /** Answers with reasoning that only this upstream can decrypt. */
  const answersWithReasoning = (secret: string) => (upstream: EchoUpstream) =>
    upstream.answer((_, res) =>
      json(
        res,
        200,
        answerBody('responses', { reasoning: 'T', opaque: `${secret}-${upstream.calls.length}`, text: 'x' }),
      ),
    )

  it('encrypted reasoning', async () => {
    answersWithReasoning('ENC-ONE')(one)
    answersWithReasoning('ENC-TWO')(two)
    for (let i = 0; i < 10; i++) {
      const { channel, answer } = await ask({ model: 'native', path: 'responses', more: { store: false } })
      const { output } = answer as unknown as { output: object[] }
      const input = [...output, { role: 'user', content: 'more' }]
      const more = { input, store: false }
      expect(await servedBy({ model: 'native', path: 'responses', more }, 5)).toEqual([channel])
    }
  })

  it('references to stored items, from their owner only', async () => {
    for (const [name, upstream] of Object.entries({ one, two }))
      upstream.answer((_, res) => {
        const body = JSON.stringify(answerBody('responses', { text: 'x' }))
        json(res, 200, JSON.parse(body.replaceAll('msg_', `msg_${name}_${upstream.calls.length}_`)) as object)
      })
    for (let i = 0; i < 10; i++) {
      const { channel, answer } = await ask({ model: 'native', path: 'responses' })
      const [item] = (answer as unknown as { output: { id: string }[] }).output
      const input = [
        { type: 'item_reference', id: item?.id },
        { role: 'user', content: 'more' },
      ]
      expect(await servedBy({ model: 'native', path: 'responses', more: { input } }, 3)).toEqual([channel])
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
