/** Open streams and WebSockets of clients while the pods that serve them are replaced. */
import { expect } from 'vitest'
import { type FollowedAnswer, follow } from '../harness/follow.ts'
import { until } from '../harness/gateway.ts'
import { chatBody, eventData, jsonHeaders } from '../harness/http.ts'
import { frame, openRaw, type RawSocket, TEXT } from '../harness/web-socket.ts'
import type { HoldingUpstream } from './upstream.ts'
import type { InstallWorld } from './world.ts'

const STREAMS = 200
const SOCKETS = 50
/** So many begin at the same time, as the machine has other work. */
const AT_ONCE = 25
const GOING_AWAY = 1001
const PATIENT_MS = 60_000

export interface Open {
  streams: FollowedAnswer[]
  sockets: RawSocket[]
}

/** Opens them all; resolves when each has received the beginning of its answer. */
export async function openAnswers(world: InstallWorld, key: string): Promise<Open> {
  const { base } = world.nginx
  const open: Open = { streams: [], sockets: [] }
  const body = chatBody('held', { stream: true, max_tokens: 10 })
  await inTurns(STREAMS, async () => {
    const stream = await follow(`${base}/v1/chat/completions`, { headers: jsonHeaders(key), body })
    open.streams.push(stream)
  })
  const create = {
    type: 'response.create',
    model: 'held',
    input: 'Hello',
    stream: true,
    max_output_tokens: 16,
  }
  await inTurns(SOCKETS, async () => {
    const socket = await openRaw(base, { lines: [`authorization: Bearer ${key}`], pongs: true })
    open.sockets.push(socket)
    socket.send(frame(TEXT, JSON.stringify(create)))
  })
  await until(
    () =>
      open.streams.every((stream) => eventData(stream.text()).length > 1) &&
      open.sockets.every((socket) => typesOf(socket).includes('response.output_text.delta')),
    'every answer to begin',
    PATIENT_MS,
  )
  return open
}

/** Lets the upstream end its answers, and expects every client to get the whole of its own. */
export async function expectWhole(open: Open, upstream: HoldingUpstream): Promise<void> {
  expect(upstream.held()).toBe(STREAMS + SOCKETS)
  upstream.release()
  const whole = await Promise.all(
    open.streams.map(async (stream) => [await stream.ended, eventData(stream.text()).at(-1)]),
  )
  expect(whole).toEqual(open.streams.map(() => [true, '[DONE]']))
  // Their pods close idle WebSockets, so that clients open new ones at the new pods.
  expect(new Set(await Promise.all(open.sockets.map(({ ended }) => ended)))).toEqual(new Set([GOING_AWAY]))
  expect(new Set(open.sockets.map((socket) => typesOf(socket).at(-1)))).toEqual(
    new Set(['response.completed']),
  )
}

const typesOf = (socket: RawSocket) => socket.messages().map(({ type }) => type)

async function inTurns(count: number, start: () => Promise<void>): Promise<void> {
  let left = count
  const loop = async () => {
    while (left-- > 0) await start()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, loop))
}
