/**
 * A gateway under attack through WebSockets. After each test a parallel socket must still be served, and nothing of the
 * attack may remain.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { type RunningGateway, startGateway, until } from '../../harness/gateway.ts'
import { metric } from '../../harness/ledger.ts'
import { account, apiKey, channel, route } from '../../harness/resources.ts'
import { chatAnswer, type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'
import { frame, openRaw, type RawSocket, TEXT } from '../../harness/web-socket.ts'

const KEY = 'sk-siege-key-0123456789'
export const AUTHORIZATION = `authorization: Bearer ${KEY}`

export interface AttackedGateway {
  readonly gateway: RunningGateway
  readonly upstream: ScriptedUpstream
  /** Opens a WebSocket; `afterHandshake` is sent in the same write as the handshake. */
  open(afterHandshake?: Buffer): Promise<RawSocket>
}

/** A `response.create` message. */
export const createMessage = (fields: object = {}) =>
  JSON.stringify({ type: 'response.create', model: 'model', store: false, input: 'hi', ...fields })

/** The messages of a socket that end a response. */
export const ends = (socket: RawSocket) =>
  socket.messages().filter(({ type }) => type === 'response.completed' || type === 'error')

/** Waits until `count` responses of a socket have ended; returns the last one's final message. */
export async function ended(socket: RawSocket, count: number): Promise<Record<string, unknown>> {
  await until(() => ends(socket).length >= count, `${count} answers`)
  return ends(socket)[count - 1] ?? {}
}

/** Call it once at the top level of a test file. */
export function attackedGateway(env: Record<string, string> = {}): AttackedGateway {
  let upstream: ScriptedUpstream
  let gateway: RunningGateway
  let parallel: RawSocket

  beforeAll(async () => {
    upstream = await startUpstream()
    gateway = await startGateway(
      {
        'all.yaml':
          channel('c', upstream.baseURL) +
          route('r', 'model', ['c'], { price: { input: '1', output: '1' } }) +
          account('a', '1000') +
          apiKey('k', KEY, { accountRef: { name: 'a' } }),
      },
      env,
    )
  })
  beforeEach(async () => {
    upstream.answer(chatAnswer())
    parallel = await openRaw(gateway.base, { lines: [AUTHORIZATION], pongs: true })
  })
  afterEach(async () => {
    upstream.answer(chatAnswer())
    parallel.send(frame(TEXT, createMessage()))
    expect(await ended(parallel, 1)).toMatchObject({ type: 'response.completed' })
    parallel.socket.destroy()
    await expectIdle(gateway)
  })
  afterAll(async () => {
    await gateway?.stop()
    await upstream?.close()
  })
  return {
    get gateway() {
      return gateway
    },
    get upstream() {
      return upstream
    },
    open: (afterHandshake) =>
      openRaw(gateway.base, { lines: [AUTHORIZATION], ...(afterHandshake && { afterHandshake }) }),
  }
}

const GAUGES = ['sluice_sockets', 'sluice_requests_in_flight', 'sluice_holds', 'sluice_settle_queue']

/** Waits until the gateway is idle; asserts that it logged no unexpected error. */
async function expectIdle(gateway: RunningGateway): Promise<void> {
  for (const gauge of GAUGES)
    await until(async () => (await metric(gateway, gauge)) === 0, `${gauge} to be 0`)
  expect(gateway.child.exitCode).toBeNull()
  expect(gateway.output()).not.toMatch(/unexpected error|unhandled|uncaught|internal_error/i)
}
