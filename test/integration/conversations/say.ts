/** A turn of a conversation, sent by a client of the responses API. */
import type { IncomingMessage } from 'node:http'
import { expect } from 'vitest'
import { z } from 'zod'
import { call, jsonHeaders, open } from '../../harness/http.ts'
import type { Spoken } from './speaker.ts'

export interface Turn {
  model: string
  input: string | object[]
  previous?: string
  stream?: boolean
  headers?: Record<string, string>
  more?: object
}

/** Resolved when the answer is complete; a stream's connection may still be open then. */
export interface TurnResult extends Spoken {
  id: string
  requestId: string
  /** previous_response_id of the answer. */
  follows: string | null | undefined
  output: { type: string; [field: string]: unknown }[]
}

export interface Refused {
  status: number
  code: string
  param: string | null
  retryAfter: string | undefined
}

const response = z.object({
  id: z.string(),
  status: z.string(),
  previous_response_id: z.string().nullish(),
  output: z.array(z.looseObject({ type: z.string(), content: z.unknown().optional() })),
})
const parts = z.array(z.object({ text: z.string() }))
const failure = z.object({ error: z.object({ code: z.string(), param: z.string().nullable() }) })

export async function ask(base: string, key: string, turn: Turn): Promise<TurnResult | Refused> {
  const { model, input, previous, stream = false, headers = {}, more = {} } = turn
  const body = JSON.stringify({
    model,
    input,
    ...(previous !== undefined && { previous_response_id: previous }),
    ...(stream && { stream }),
    ...more,
  })
  const res = await open(`${base}/v1/responses`, {
    method: 'POST',
    headers: jsonHeaders(key, headers),
    body,
  })
  const status = res.statusCode ?? 0
  if (status === 200) return resultOf(res, stream ? await completed(res) : await text(res))
  const { code, param } = failure.parse(JSON.parse(await text(res))).error
  return { status, code, param, retryAfter: res.headers['retry-after'] }
}

/** Fails the test if the turn is refused. */
export async function say(base: string, key: string, turn: Turn): Promise<TurnResult> {
  const answer = await ask(base, key, turn)
  expect(answer).toHaveProperty('id')
  return answer as TurnResult
}

export const NOT_FOUND: Refused = {
  status: 400,
  code: 'previous_response_not_found',
  param: 'previous_response_id',
  retryAfter: undefined,
}

/** The status of GET /v1/responses/{id}. */
export async function statusOfStored(base: string, key: string, id: string): Promise<number> {
  return (await call(`${base}/v1/responses/${id}`, { headers: jsonHeaders(key) })).status
}

function resultOf({ headers }: IncomingMessage, whole: string): TurnResult {
  const { id, output, previous_response_id: follows } = response.parse(JSON.parse(whole))
  const content = output.find(({ type }) => type === 'message')?.content
  const parsed = JSON.parse(
    parts
      .parse(content)
      .map((part) => part.text)
      .join(''),
  ) as Spoken
  return { ...parsed, id, follows, output, requestId: String(headers['x-request-id']) }
}

async function text(res: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of res) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** The response in the last event, as soon as it arrives; later events are not read. */
async function completed(res: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let seen = ''
    res.on('error', reject)
    res.on('end', () => reject(new Error(`a stream ended without its last event:\n${seen}`)))
    res.on('data', (chunk: Buffer) => {
      seen += chunk.toString()
      const [, data] = /^event: response\.completed\ndata: (.*)\n\n/m.exec(seen) ?? []
      if (data !== undefined) resolve(JSON.stringify((JSON.parse(data) as { response: object }).response))
    })
  })
}

/** The id at the start of a stream, which continues. */
export async function startStream(
  base: string,
  key: string,
  turn: Turn,
): Promise<{ id: string; over: Promise<string> }> {
  const { model, input, previous, more = {} } = turn
  const body = JSON.stringify({ model, input, stream: true, previous_response_id: previous, ...more })
  const res = await open(`${base}/v1/responses`, { method: 'POST', headers: jsonHeaders(key), body })
  expect(res.statusCode).toBe(200)
  let seen = ''
  const over = Promise.withResolvers<string>()
  const id = await new Promise<string>((resolve) => {
    res.on('data', (chunk: Buffer) => {
      seen += chunk.toString()
      const [, data] = /^event: response\.created\ndata: (.*)\n\n/m.exec(seen) ?? []
      if (data !== undefined) resolve((JSON.parse(data) as { response: { id: string } }).response.id)
    })
    res.on('close', () => over.resolve(seen))
    res.on('error', () => over.resolve(seen))
  })
  return { id, over: over.promise }
}
