/** A gateway without resources for relay tests, calls to it, and upstreams that record raw requests. */
import { createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { listen, type TestServer } from '../../../proxy/outbound/testing.ts'
import { type RunningGateway, startGateway } from '../../harness/gateway.ts'
import { type CallOptions, open, readAll } from '../../harness/http.ts'

export const UPSTREAM_KEY = 'key-of-the-caller-at-its-upstream'
export const HEADERS = { authorization: `Bearer ${UPSTREAM_KEY}`, 'content-type': 'application/json' }

/** Allows local servers unless `env` overrides it. */
export const startRelay = (env: Record<string, string> = {}, files: Record<string, string> = {}) =>
  startGateway(files, { SLUICE_RELAY_ALLOW: 'localhost', ...env })

/** The same, stopped at the end of the test. */
export async function relayOfTest(
  env: Record<string, string> = {},
  files: Record<string, string> = {},
): Promise<RunningGateway> {
  const gateway = await startRelay(env, files)
  onTestFinished(() => gateway.stop())
  return gateway
}

/** The body of a relay call; `body` is JSON text. */
export const envelope = (url: string, body = '{"model":"m"}', format = 'openai') =>
  `{"url":${JSON.stringify(url)},"format":${JSON.stringify(format)},"body":${body}}`

/** Resolves with the headers of the answer. */
export const openRelay = (
  gateway: Pick<RunningGateway, 'base'>,
  body: string | Buffer,
  options: CallOptions = {},
) => open(`${gateway.base}/api/proxy`, { method: 'POST', headers: HEADERS, body, ...options })

export interface Relayed {
  status: number
  headers: Record<string, string | string[] | undefined>
  bytes: Buffer
  /** The gateway's error code; undefined for an answer of the upstream. */
  code: string | undefined
  message: string | undefined
}

/** Makes a relay call and reads its answer. Throws if header and body of a gateway error have different codes. */
export async function relay(
  gateway: Pick<RunningGateway, 'base'>,
  body: string | Buffer,
  options: CallOptions = {},
): Promise<Relayed> {
  const res = await openRelay(gateway, body, options)
  const bytes = await readAll(res)
  const code = res.headers['x-sluice-error']
  const answer = { status: res.statusCode ?? 0, headers: res.headers, bytes }
  if (code === undefined) return { ...answer, code, message: undefined }
  const { error } = JSON.parse(bytes.toString()) as { error: { code: string; message: string } }
  if (error.code !== code) throw new Error(`${String(code)} in the header, ${error.code} in the body`)
  return { ...answer, code: error.code, message: error.message }
}

export interface RawRequest {
  /** Request line and headers as received. */
  lines: string[]
  body: Buffer
}

export interface RawUpstream extends TestServer {
  requests: RawRequest[]
}

export const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

/** Records requests with a Content-Length; `answer` runs when one is complete. Listens until the test has finished. */
export async function rawUpstream(
  answer: (socket: Socket) => void = (socket) => void socket.end(OK),
): Promise<RawUpstream> {
  const requests: RawRequest[] = []
  const server = createServer((socket) => {
    const chunks: Buffer[] = []
    let size = 0
    let whole = Infinity
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      if (whole === Infinity) whole = sizeOf(Buffer.concat(chunks))
      if (size < whole) return
      requests.push(cut(Buffer.concat(chunks)))
      answer(socket)
    })
  })
  return { ...(await listen(server, 'http')), requests }
}

function sizeOf(bytes: Buffer): number {
  const end = bytes.indexOf('\r\n\r\n')
  const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(bytes.toString('latin1', 0, end + 2)) ?? []
  return end === -1 ? Infinity : end + 4 + Number(length)
}

function cut(bytes: Buffer): RawRequest {
  const end = bytes.indexOf('\r\n\r\n')
  return { lines: bytes.toString('latin1', 0, end).split('\r\n'), body: bytes.subarray(end + 4) }
}
