/** Open WebSockets whose API key is revoked. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../../proxy/socket/testing.ts'
import { type RunningGateway, startGateway, until } from '../../harness/gateway.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'

const KEY = 'sk-open-socket-0123456789'
const OTHER = 'sk-other-socket-0123456789'

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  // Never answers, so that a turn stays open.
  upstream = await startUpstream(() => new Promise(() => undefined))
  gateway = await startGateway({
    'all.yaml': channel('c', upstream.baseURL) + route('r', 'm', ['c']) + apiKey('other', OTHER),
  })
})
afterAll(async () => {
  await gateway.stop()
  await upstream.close()
})

const open = (key: string) =>
  connect(`${gateway.base.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${key}` },
  })

/** Whole seconds, and late enough to open and use a socket first. */
const soon = () => ({ expiresAt: `${new Date(Date.now() + 4_000).toISOString().slice(0, 19)}Z` })

test.each<[string, () => void, (() => object)?]>([
  ['is deleted', () => gateway.remove('key.yaml')],
  ['is disabled', () => gateway.write('key.yaml', apiKey('key', KEY, { disabled: true }))],
  [
    'is limited to other addresses',
    () => gateway.write('key.yaml', apiKey('key', KEY, { allowedIPs: ['192.0.2.1'] })),
  ],
  ['is replaced', () => gateway.write('key.yaml', apiKey('key', 'sk-replaced-0123456789'))],
  ['expires', () => undefined, soon],
])(
  'close, idle or busy, when the key %s; those of other keys stay open',
  async (_, revoke, spec = () => ({})) => {
    const calls = upstream.calls.length
    gateway.write('key.yaml', apiKey('key', KEY, spec()))
    const idle = await until(() => open(KEY).catch(() => undefined), 'the key to work')
    const busy = await open(KEY)
    const other = await open(OTHER)
    busy.send({ type: 'response.create', model: 'm', input: 'Hello' })
    await until(() => upstream.calls.length > calls, 'the turn to begin')
    revoke()
    const end = { code: 1008, reason: 'The API key is no longer valid.' }
    expect([await idle.closed, await busy.closed]).toEqual([end, end])
    expect(busy.messages).toMatchObject([{ type: 'error' }])
    expect(other.ws.readyState).toBe(other.ws.OPEN)
  },
)
