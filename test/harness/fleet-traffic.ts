/** Requests through every proxy of a fleet, and upstreams that report what they received. */
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { z } from 'zod'
import { completion, json, type ScriptedUpstream, startUpstream } from './upstream.ts'

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** SHA-256 in the form of an ApiKey's `spec.hashes`. */
export const digestOf = (key: string): string => hash('sha256', key)

/** Outcome of a chat request. */
export interface ChatResult {
  /** "200 upstream credential model" from a reporting upstream, otherwise status and error code. */
  summary: string
  status: number
  headers: IncomingMessage['headers']
  /** performance.now() when the request was sent and when its answer was complete. */
  sentAt: number
  endedAt: number
}

const success = z.object({ choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]) })
const failure = z.object({ error: z.object({ code: z.string().nullable() }) })

/** Sends a chat request on a keep-alive connection. Rejects if no answer comes. */
export async function ask(base: string, key: string, model: string): Promise<ChatResult> {
  const sentAt = performance.now()
  const sent = request(`${base}/v1/chat/completions`, {
    method: 'POST',
    agent,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })
  sent.end(JSON.stringify({ model, max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] }))
  const [response]: IncomingMessage[] = await once(sent, 'response')
  if (response === undefined) throw new Error('no answer')
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  const { statusCode: status = 0, headers } = response
  return { summary: `${status} ${gist(text)}`, status, headers, sentAt, endedAt: performance.now() }
}

function gist(text: string): string {
  const body: unknown = JSON.parse(text)
  const good = success.safeParse(body)
  return good.success ? good.data.choices[0].message.content : String(failure.parse(body).error.code)
}

/** Sends a request to all proxies at once; returns the summaries of their answers. */
export async function askAll(bases: readonly string[], key: string, model: string): Promise<string[]> {
  return Promise.all(bases.map(async (base) => (await ask(base, key, model)).summary))
}

/** An upstream that answers with its name, and the credential and model that it received. */
export async function startReportingUpstream(name: string): Promise<ScriptedUpstream> {
  const upstream = await startUpstream((call, res) => {
    const { model } = z.object({ model: z.string() }).parse(JSON.parse(call.body.toString()))
    // Long runs send many requests, which no test reads: do not keep them.
    upstream.calls.length = 0
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
    json(res, 200, completion(model, `${name} ${credentialOf(call.headers.authorization)} ${model}`, usage))
  })
  return upstream
}

const credentialOf = (authorization = '') => authorization.replace('Bearer ', '') || 'none'
