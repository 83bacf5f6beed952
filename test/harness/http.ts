/** HTTP calls with exactly the given headers; the answer is returned whole or as a stream. */
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'
import { expect } from 'vitest'

export interface Answer {
  status: number
  headers: IncomingMessage['headers']
  text: string
}

export interface CallOptions {
  method?: string
  /** A flat list of names and values may repeat names and must contain Host. */
  headers?: OutgoingHttpHeaders | string[]
  body?: string | Buffer
  /** Local address to connect from, such as 127.0.0.2. */
  localAddress?: string | undefined
  /** Aborts the request, before or during its answer. */
  signal?: AbortSignal
}

/** Resolves with the headers of the answer; the body is left to read. */
export function open(url: string, { method, body, ...options }: CallOptions = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const req = request(url, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      agent: false,
      ...options,
    })
    req.on('response', resolve)
    req.on('error', reject)
    req.end(body)
  })
}

export async function call(url: string, options: CallOptions = {}): Promise<Answer> {
  const res = await open(url, options)
  return { status: res.statusCode ?? 0, headers: res.headers, text: (await readAll(res)).toString() }
}

/** Reads the rest of a body. Rejects if the connection breaks first. */
export async function readAll(res: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of res) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Headers of a JSON request with an API key. */
export const jsonHeaders = (key: string, more: OutgoingHttpHeaders = {}): OutgoingHttpHeaders => ({
  authorization: `Bearer ${key}`,
  'content-type': 'application/json',
  ...more,
})

/** A chat request body with one short message; `more` adds or replaces fields. */
export const chatBody = (model: string, more: object = {}): string =>
  JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], ...more })

/** Asserts a gateway error in the chat dialect, with its request ids. */
export function expectError(
  answer: Answer,
  status: number,
  code: string,
  param: string | null = null,
  type = 'invalid_request_error',
): void {
  expect({ status: answer.status, body: JSON.parse(answer.text) }).toEqual({
    status,
    body: { error: { message: expect.stringMatching(/^\w.* .*\.$/), type, param, code } },
  })
  expect(answer.headers['content-type']).toBe('application/json')
  expect(answer.headers['x-request-id']).toMatch(/^req_[0-9a-z]{16,}$/)
  expect(answer.headers['request-id']).toBe(answer.headers['x-request-id'])
}

/** The data of each event of a chat stream, without comments. */
export function eventData(text: string): string[] {
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('data:'))
    .map((event) => event.slice('data:'.length).trim())
}
