/** An upstream that records raw requests. It accepts only HTTP/1.1 with a Content-Length. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { completion } from '../../harness/upstream.ts'

export interface RawRequest {
  firstLine: string
  /** Header lines as received. */
  headers: string[]
  body: string
}

export interface RawUpstream {
  baseURL: string
  requests: RawRequest[]
  /** Number of bytes that belong to no request. */
  strayBytes(): number
  /** Holds answers back until `release` is called. */
  hold(): { release(): void }
  close(): Promise<void>
}

export async function startRawUpstream(): Promise<RawUpstream> {
  const requests: RawRequest[] = []
  const pending = new Map<Socket, Buffer>()
  let gate = Promise.resolve()
  const server = createServer((socket) => {
    pending.set(socket, Buffer.alloc(0))
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      const [found, rest] = cut(Buffer.concat([pending.get(socket) ?? Buffer.alloc(0), chunk]))
      pending.set(socket, rest)
      requests.push(...found)
      for (const _ of found) void gate.then(() => socket.write(ANSWER))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    strayBytes: () => [...pending.values()].reduce((sum, bytes) => sum + bytes.length, 0),
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      return { release: resolve }
    },
    async close() {
      for (const socket of pending.keys()) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

const BODY = JSON.stringify(
  completion('m', 'Hello', { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }),
)
const ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`

/** The complete requests at the beginning of `bytes`, and the remaining bytes. */
function cut(bytes: Buffer): [RawRequest[], Buffer] {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return [[], bytes]
  const [firstLine = '', ...headers] = bytes.toString('latin1', 0, end).split('\r\n')
  const length = Number(headers.map((line) => /^content-length: (\d+)$/i.exec(line)?.[1]).find(Boolean) ?? 0)
  const next = end + 4 + length
  if (bytes.length < next) return [[], bytes]
  const [more, rest] = cut(bytes.subarray(next))
  return [[{ firstLine, headers, body: bytes.toString('utf8', end + 4, next) }, ...more], rest]
}
