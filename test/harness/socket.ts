/** Raw TCP connections, to send what no HTTP client would. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Answer } from './http.ts'

export interface Connection {
  socket: Socket
  received(): string
  /** Everything received; resolves when the connection is closed. */
  closed: Promise<string>
}

/** Connects and writes `bytes`; anything more is up to the test. */
export async function connection(base: string, bytes: string | Buffer): Promise<Connection> {
  const { hostname, port } = new URL(base)
  const socket = connect(Number(port), hostname)
  let received = ''
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1')
  })
  // A reset also closes the connection.
  socket.on('error', () => undefined)
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(received)))
  await once(socket, 'connect')
  socket.write(bytes)
  return { socket, received: () => received, closed }
}

/** Sends bytes and reads the only answer, which must close the connection. */
export async function exchange(base: string, bytes: string | Buffer): Promise<Answer> {
  return parseAnswer(await (await connection(base, bytes)).closed)
}

/** Parses a text that is one answer. */
export function parseAnswer(text: string): Answer {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1] ?? 0)
  const headers = Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split(': ')
      return [name.toLowerCase(), value.join(': ')]
    }),
  )
  return { status, headers, text: rest.join('\r\n\r\n') }
}

/** A request with `connection: close` as bytes; `headers` are whole lines. */
export function requestBytes(
  start: string,
  headers: string[],
  body: string | Buffer = '',
  length: string | undefined = `content-length: ${Buffer.byteLength(body)}`,
): Buffer {
  const lines = [
    start,
    'host: localhost',
    'connection: close',
    ...headers,
    ...(length === '' ? [] : [length]),
  ]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), Buffer.from(body)])
}
