/** A gateway for raw requests, with one model on an upstream that records raw requests. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { type RunningGateway, startGateway, until } from '../../harness/gateway.ts'
import { type Answer, call, chatBody, jsonHeaders } from '../../harness/http.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { connection, parseAnswer } from '../../harness/socket.ts'
import { type RawUpstream, startRawUpstream } from './raw-upstream.ts'

export const KEY = 'sk-http-test'
export const PATH = '/v1/chat/completions'
export const AUTH = `authorization: Bearer ${KEY}`
export const POST = `POST ${PATH} HTTP/1.1`

export interface World {
  gateway: RunningGateway
  upstream: RawUpstream
  /** Asserts that a client on another connection is served with one upstream request. */
  servesOthers(): Promise<void>
  stop(): Promise<void>
}

export async function startWorld(env: Record<string, string> = {}): Promise<World> {
  const upstream = await startRawUpstream()
  const files = {
    'all.yaml': apiKey('caller', KEY) + channel('main', upstream.baseURL) + route('model', 'm', ['main']),
  }
  const gateway = await startGateway(files, env)
  return {
    gateway,
    upstream,
    async servesOthers() {
      // A request of an earlier client may still be on its way.
      const user = randomUUID()
      const body = chatBody('m', { user })
      const good = await call(gateway.base + PATH, { body, headers: jsonHeaders(KEY) })
      expect(good.status).toBe(200)
      expect(upstream.requests.filter((request) => request.body.includes(user))).toHaveLength(1)
      expect(gateway.child.exitCode).toBeNull()
    },
    async stop() {
      await gateway.stop()
      await upstream.close()
    },
  }
}

/** A valid request that keeps the connection. */
export function good(body = chatBody('m'), headers: string[] = []): string {
  return raw(POST, [AUTH, ...headers, `content-length: ${Buffer.byteLength(body)}`], body)
}

/** A request with exactly these lines after Host. */
export function raw(firstLine: string, headers: string[], body = ''): string {
  return `${[firstLine, 'host: localhost', ...headers].join('\r\n')}\r\n\r\n${body}`
}

/** Splits received bytes into answers with a Content-Length. Throws on anything else. */
export function answersIn(text: string): Answer[] {
  const end = text.indexOf('\r\n\r\n')
  if (text === '') return []
  if (end === -1 || !text.startsWith('HTTP/1.1 ')) throw new Error(`no answer: ${JSON.stringify(text)}`)
  const { status, headers } = parseAnswer(text.slice(0, end + 4))
  const next = end + 4 + Number(headers['content-length'])
  if (status === 0 || !(next <= text.length)) throw new Error(`no whole answer: ${JSON.stringify(text)}`)
  return [{ status, headers, text: text.slice(end + 4, next) }, ...answersIn(text.slice(next))]
}

/** Sends all bytes at once, waits for `count` answers, then half-closes and waits for the end of the connection. */
export async function answersTo(base: string, bytes: string | Buffer, count: number): Promise<Answer[]> {
  const { socket, received, closed } = await connection(base, bytes)
  const have = () => received().match(/HTTP\/1\.1 \d/g)?.length ?? 0
  await until(() => have() >= count || socket.destroyed, `${count} answers`)
  socket.end()
  return answersIn(await closed)
}
