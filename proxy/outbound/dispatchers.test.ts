import type { ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ChannelRecord } from '../../contract/table/records.ts'
import { createAuthority } from '../../test/harness/pki.ts'
import { Dispatchers } from './dispatchers.ts'
import { send } from './exchange.ts'
import { AttemptFailed } from './failure.ts'
import { httpServer, listen, nextTurn, type TestServer, testChannel, testRequest } from './testing.ts'

const TIMEOUTS = { firstByte: 5_000, idle: 5_000, total: 10_000 }
const never = new AbortController().signal

function openDispatchers(): Dispatchers {
  const dispatchers = new Dispatchers()
  onTestFinished(() => dispatchers.close())
  return dispatchers
}

async function ask(dispatchers: Dispatchers, key: string, channel: ChannelRecord): Promise<string> {
  const request = testRequest(new URL(channel.baseURL).origin)
  const response = await send(dispatchers.get(key, channel), request, TIMEOUTS, never)
  return (await response.readAll(1_000)).toString()
}

const at = (server: TestServer, changes: Partial<ChannelRecord> = {}) =>
  testChannel({ baseURL: `${server.origin}/v1`, ...changes })

describe('pools', () => {
  test('a channel keeps its connection when a new table does not change it', async () => {
    const server = await httpServer((_req, res) => void res.end('ok'))
    const dispatchers = openDispatchers()
    await ask(dispatchers, 'default/a', at(server))
    dispatchers.retain(new Set(['default/a']))
    await nextTurn()
    const edited = at(server, { auth: { scheme: 'None' }, headers: { x: 'y' }, query: { q: '1' } })
    await ask(dispatchers, 'default/a', edited)
    expect(server.accepted()).toBe(1)
  })

  test('parallel requests do not wait for each other', async () => {
    const waiting: ServerResponse[] = []
    const server = await httpServer((_req, res) => void waiting.push(res))
    const dispatchers = openDispatchers()
    const answers = ['default/a', 'default/a', 'default/b'].map((key) => ask(dispatchers, key, at(server)))
    await vi.waitFor(() => expect(waiting).toHaveLength(3))
    expect(server.accepted()).toBe(3)
    for (const response of waiting) response.end('ok')
    expect(await Promise.all(answers)).toEqual(['ok', 'ok', 'ok'])
  })

  test('channels of a namespace share connections if they connect alike', async () => {
    const server = await httpServer((_req, res) => void res.end('ok'))
    const dispatchers = openDispatchers()
    const keyed = (key: string) => at(server, { auth: { scheme: 'Bearer', secret: key } })
    await ask(dispatchers, 'default/a', keyed('one'))
    await nextTurn()
    await ask(dispatchers, 'default/b', keyed('two'))
    await nextTurn()
    expect(server.accepted()).toBe(1)
    await ask(dispatchers, 'default/slow', at(server, { timeoutsMs: { ...TIMEOUTS, connect: 77 } }))
    await nextTurn()
    expect(server.accepted()).toBe(2)
    await ask(dispatchers, 'other/a', keyed('one'))
    expect(server.accepted()).toBe(3)
  })

  test('a connection stays open until no channel uses it', async () => {
    const server = await httpServer((_req, res) => void res.end('ok'))
    const elsewhere = await httpServer((_req, res) => void res.end('moved'))
    const dispatchers = openDispatchers()
    for (const key of ['default/a', 'default/b', 'default/c']) {
      await ask(dispatchers, key, at(server))
      await nextTurn()
    }
    dispatchers.retain(new Set(['default/a', 'default/b']))
    expect(await ask(dispatchers, 'default/a', at(elsewhere))).toBe('moved')
    await ask(dispatchers, 'default/b', at(server))
    expect(server.accepted()).toBe(1)
    dispatchers.retain(new Set(['default/a']))
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
    expect(elsewhere.sockets.size).toBe(1)
  })

  test('retain closes the connections of removed channels: idle ones at once, the others after their answer', async () => {
    let waiting: ServerResponse | undefined
    const server = await httpServer((req, res) => {
      if (req.headers.accept === 'hold') waiting = res
      else res.end('ok')
    })
    const dispatchers = openDispatchers()
    await ask(dispatchers, 'other/idle', at(server))
    const request = testRequest(server.origin)
    request.headers.accept = 'hold'
    const answer = send(dispatchers.get('default/busy', at(server)), request, TIMEOUTS, never)
    await vi.waitFor(() => expect(waiting).toBeDefined())
    expect(server.sockets.size).toBe(2)
    dispatchers.retain(new Set())
    await vi.waitFor(() => expect(server.sockets.size).toBe(1))
    waiting?.end('finished')
    expect((await (await answer).readAll(100)).toString()).toBe('finished')
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
    expect(await ask(dispatchers, 'other/idle', at(server))).toBe('ok')
  })

  test('a channel whose address changed gets new connections, and the old ones are closed', async () => {
    const first = await httpServer((_req, res) => void res.end('first'))
    const second = await httpServer((_req, res) => void res.end('second'))
    const dispatchers = openDispatchers()
    expect(await ask(dispatchers, 'default/a', at(first))).toBe('first')
    expect(await ask(dispatchers, 'default/a', at(second))).toBe('second')
    await vi.waitFor(() => expect(first.sockets.size).toBe(0))
    expect(second.sockets.size).toBe(1)
  })

  test('close waits for the requests in flight', async () => {
    let waiting: ServerResponse | undefined
    const server = await httpServer((_req, res) => {
      waiting = res
    })
    const dispatchers = new Dispatchers()
    const answer = ask(dispatchers, 'default/a', at(server))
    await vi.waitFor(() => expect(waiting).toBeDefined())
    const order: string[] = []
    const closed = dispatchers.close().then(() => order.push('closed'))
    const answered = answer.then((text) => order.push(text))
    waiting?.end('answer')
    await Promise.all([closed, answered])
    expect(order).toEqual(['answer', 'closed'])
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
  })
})

describe('TLS', () => {
  test('a channel’s CA and server name are used; without either the upstream is refused', async () => {
    const authority = createAuthority()
    onTestFinished(() => authority.remove())
    const { ca } = authority
    const { key, cert } = authority.issue('gateway.test')
    const names: unknown[] = []
    const server = await listen(
      createHttpsServer({ key, cert }, (req, res) => {
        if ('servername' in req.socket) names.push(req.socket.servername)
        res.end('secure')
      }),
      'https',
    )
    const dispatchers = openDispatchers()
    const tls = { ca, serverName: 'gateway.test' }
    expect(await ask(dispatchers, 'default/a', at(server, { tls }))).toBe('secure')
    expect(names).toEqual(['gateway.test'])
    for (const wrong of [
      { ca, serverName: 'other.test' },
      { ca },
      { serverName: 'gateway.test' },
      undefined,
    ]) {
      // Once its settings are wrong, the channel must not be served by the old connection.
      expect(await ask(dispatchers, 'default/a', at(server, { tls }))).toBe('secure')
      const refused = await ask(dispatchers, 'default/a', at(server, { tls: wrong })).catch(
        (error: unknown) => error,
      )
      expect(refused).toBeInstanceOf(AttemptFailed)
      expect(refused).toHaveProperty('failure', { class: 'transient', detail: 'tls' })
    }
  })
})
