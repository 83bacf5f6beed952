/** Raw WebSockets (RFC 6455, section 5), to send frames that no client would. */
import { connect, type Socket } from 'node:net'

export const CONTINUATION = 0x0
export const TEXT = 0x1
export const BINARY = 0x2
export const CLOSE = 0x8
export const PING = 0x9
export const PONG = 0xa

/** Codes for an end without a close frame, and for a close frame without a code. */
export const CUT_OFF = 1006
export const NO_CODE = 1005

export interface FrameOptions {
  fin?: boolean
  /** The reserved bits, as a number: 4 is the first. */
  rsv?: number
  masked?: boolean
  /** Size of the length field; by default the smallest that fits. */
  lengthBits?: 7 | 16 | 64
  /** Written instead of the true length. */
  length?: bigint
}

/** A frame as a client writes it. */
export function frame(opcode: number, payload: string | Buffer = '', options: FrameOptions = {}): Buffer {
  const { fin = true, rsv = 0, masked = true } = options
  const data = Buffer.from(payload)
  const length = options.length ?? BigInt(data.length)
  const bits = options.lengthBits ?? (length < 126n ? 7 : length < 65_536n ? 16 : 64)
  const head = Buffer.alloc(bits === 7 ? 2 : 2 + bits / 8)
  head[0] = (fin ? 0x80 : 0) | (rsv << 4) | opcode
  head[1] = (masked ? 0x80 : 0) | (bits === 7 ? Number(length) : bits === 16 ? 126 : 127)
  if (bits === 16) head.writeUInt16BE(Number(length), 2)
  if (bits === 64) head.writeBigUInt64BE(length, 2)
  if (!masked) return Buffer.concat([head, data])
  const mask = Buffer.from([0x12, 0x34, 0x56, 0x78])
  return Buffer.concat([head, mask, data.map((byte, i) => byte ^ (mask[i % 4] ?? 0))])
}

/** A close frame; `reason` may be invalid UTF-8. */
export function closeFrame(code: number, reason: string | Buffer = ''): Buffer {
  return frame(CLOSE, Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason)]))
}

/** Header lines of a WebSocket handshake. */
export const HANDSHAKE = [
  'host: localhost',
  'connection: Upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
]

export function handshakeBytes(lines: string[], path = '/v1/responses'): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
}

export interface ReceivedFrame {
  opcode: number
  payload: Buffer
}

export interface RawSocket {
  socket: Socket
  frames: ReceivedFrame[]
  /** The text messages so far, parsed as JSON. */
  messages(): Record<string, unknown>[]
  send(...frames: Buffer[]): void
  /** The code of the server's close frame, once the connection has ended. */
  ended: Promise<number>
}

export interface RawOptions {
  /** More header lines. */
  lines?: string[]
  /** Bytes sent in the same write as the handshake. */
  afterHandshake?: Buffer
  /** Answers pings. */
  pongs?: boolean
}

/** Opens a WebSocket that by itself answers only close frames. Rejects if the handshake is refused. */
export async function openRaw(
  base: string,
  { lines = [], afterHandshake = Buffer.alloc(0), pongs = false }: RawOptions = {},
): Promise<RawSocket> {
  const { hostname, port } = new URL(base)
  const socket = connect({ port: Number(port), host: hostname, noDelay: true })
  const opened = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<number>()
  const frames: ReceivedFrame[] = []
  let unread = Buffer.alloc(0)
  let open = false
  socket.on('data', (chunk) => {
    unread = Buffer.concat([unread, chunk])
    if (!open) {
      const end = unread.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = unread.toString('latin1', 0, end)
      if (!head.startsWith('HTTP/1.1 101 ')) return opened.reject(new Error(`not opened: ${head}`))
      unread = unread.subarray(end + 4)
      open = true
      opened.resolve()
    }
    for (let size = sizeOf(unread); size <= unread.length; size = sizeOf(unread)) {
      const read = { opcode: (unread[0] ?? 0) & 0x0f, payload: unread.subarray(headOf(unread), size) }
      frames.push(read)
      unread = unread.subarray(size)
      if (read.opcode === PING && pongs) socket.write(frame(PONG, read.payload))
      if (read.opcode === CLOSE && socket.writable) socket.end(frame(CLOSE, read.payload))
    }
  })
  // A reset also ends the connection.
  socket.on('error', () => undefined)
  socket.on('close', () => {
    opened.reject(new Error('ended before it was open'))
    const close = frames.find(({ opcode }) => opcode === CLOSE)
    ended.resolve(
      close === undefined ? CUT_OFF : close.payload.length < 2 ? NO_CODE : close.payload.readUInt16BE(),
    )
  })
  socket.on('connect', () =>
    socket.write(Buffer.concat([handshakeBytes([...HANDSHAKE, ...lines]), afterHandshake])),
  )
  await opened.promise
  return {
    socket,
    frames,
    messages: () =>
      frames.flatMap(({ opcode, payload }) => (opcode === TEXT ? [JSON.parse(payload.toString())] : [])),
    send: (...sent) => void socket.write(Buffer.concat(sent)),
    ended: ended.promise,
  }
}

/** Size of the header of a server's frame. */
function headOf(bytes: Buffer): number {
  const length = bytes[1] ?? 0
  return length < 126 ? 2 : length === 126 ? 4 : 10
}

/** Size of the first frame; Infinity until its header is complete. */
function sizeOf(bytes: Buffer): number {
  const head = headOf(bytes)
  if (bytes.length < head) return Infinity
  if (head === 2) return head + (bytes[1] ?? 0)
  return head + (head === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2)))
}
