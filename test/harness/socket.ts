/** Bare connections, for what no HTTP client would send. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Answer } from './http.ts'

export interface Connection {
  socket: Socket
  received(): string
  /** All that was received; resolves when the other side has closed the connection. */
  closed: Promise<string>
}

/** Connects and writes; nothing else is sent unless the test does. */
export async function connection(base: string, bytes: string | Buffer): Promise<Connection> {
  const { hostname, port } = new URL(base)
  const socket = connect(Number(port), hostname)
  let received = ''
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1')
  })
  // A reset is an end, too.
  socket.on('error', () => undefined)
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(received)))
  await once(socket, 'connect')
  socket.write(bytes)
  return { socket, received: () => received, closed }
}

/** Sends bytes and reads the one answer, which must close the connection. */
export async function exchange(base: string, bytes: string | Buffer): Promise<Answer> {
  return parseAnswer(await (await connection(base, bytes)).closed)
}

/** Reads the one answer in a text; its body must have a content-length or end with the text. */
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

/** A request as bytes; `headers` are whole lines. The connection is to be closed after it. */
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
