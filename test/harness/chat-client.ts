/** Sends chat requests in every form that the API accepts. */
import { expect } from 'vitest'
import { z } from 'zod'
import { type Answer, call, chatBody } from './http.ts'

/** Names and values; names may repeat. */
export type Headers = [string, string][]

export const bearer = (key: string): Headers => [['authorization', `Bearer ${key}`]]

const errorBody = z.object({
  error: z.object({ message: z.string(), type: z.string(), param: z.string().nullable(), code: z.string() }),
})

/** The error in a body of the chat dialect. Throws if there is none. */
export const errorIn = (text: string) => errorBody.parse(JSON.parse(text)).error

/** Sends a chat request to `base` + `path`. */
export function chat(
  base: string,
  headers: Headers,
  body: string,
  { path = '/v1/chat/completions', localAddress }: { path?: string; localAddress?: string | undefined } = {},
): Promise<Answer> {
  const typed = headers.some(([name]) => name === 'content-type')
  const flat = [...headers.flat(), 'host', new URL(base).host]
  if (!typed) flat.push('content-type', 'application/json')
  return call(`${base}${path}`, { headers: flat, body, localAddress })
}

/**
 * Sends a chat request on both paths, as JSON and as a stream. Asserts that all four get the same status and JSON body,
 * each with its own request id.
 */
export async function expectSameRefusal(
  base: string,
  headers: Headers,
  model: string,
  more: object = {},
): Promise<Answer> {
  const answers: Answer[] = []
  for (const path of ['/v1/chat/completions', '/api/v1/chat/completions']) {
    for (const stream of [false, true])
      answers.push(await chat(base, headers, chatBody(model, { ...more, stream }), { path }))
  }
  const [first] = answers
  if (first === undefined) throw new Error('no request was sent')
  for (const { status, text, headers: sent } of answers) {
    expect({ status, text }).toEqual({ status: first.status, text: first.text })
    expect(sent['content-type']).toBe('application/json')
    expect(sent['x-request-id']).toMatch(/^req_[0-9a-f]{32}$/)
    expect(sent['request-id']).toBe(sent['x-request-id'])
  }
  expect(new Set(answers.map((answer) => answer.headers['x-request-id'])).size).toBe(answers.length)
  return first
}
