/**
 * A gateway under attack by its WebSockets, and a good one beside them. When an attack is over, the good one is served,
 * and nothing is left of the attack.
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
  /** Opens a WebSocket; `behind` goes in the same piece as the handshake. */
  open(behind?: Buffer): Promise<RawSocket>
}

/** The text of a message that begins a response. */
export const create = (fields: object = {}) =>
  JSON.stringify({ type: 'response.create', model: 'model', store: false, input: 'hi', ...fields })

/** Of the messages of a socket those that end an answer. */
export const ends = (socket: RawSocket) =>
  socket.messages().filter(({ type }) => type === 'response.completed' || type === 'error')

/** Waits until so many answers of a socket have ended; gives the last. */
export async function ended(socket: RawSocket, count: number): Promise<Record<string, unknown>> {
  await until(() => ends(socket).length >= count, `${count} answers`)
  return ends(socket)[count - 1] ?? {}
}

/** To be called once, where the tests of a file are declared. */
export function attackedGateway(env: Record<string, string> = {}): AttackedGateway {
  let upstream: ScriptedUpstream
  let gateway: RunningGateway
  let good: RawSocket

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
    good = await openRaw(gateway.base, { lines: [AUTHORIZATION], pongs: true })
  })
  afterEach(async () => {
    upstream.answer(chatAnswer())
    good.send(frame(TEXT, create()))
    expect(await ended(good, 1)).toMatchObject({ type: 'response.completed' })
    good.socket.destroy()
    await quiet(gateway)
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
    open: (behind) => openRaw(gateway.base, { lines: [AUTHORIZATION], ...(behind && { behind }) }),
  }
}

const GAUGES = ['sluice_sockets', 'sluice_requests_in_flight', 'sluice_holds', 'sluice_settle_queue']

/** Waits until the gateway has nothing to do and nobody to serve; it must not have met anything unexpected. */
async function quiet(gateway: RunningGateway): Promise<void> {
  for (const gauge of GAUGES)
    await until(async () => (await metric(gateway, gauge)) === 0, `${gauge} to be 0`)
  expect(gateway.child.exitCode).toBeNull()
  expect(gateway.output()).not.toMatch(/unexpected error|unhandled|uncaught|internal_error/i)
}
