/** A scripted upstream on loopback that records every request. */

import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer, type ServerOptions as TlsOptions } from 'node:https'
import type { AddressInfo } from 'node:net'

export interface UpstreamCall {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: Buffer
  /** True if the gateway closed the connection before the answer was complete. */
  aborted: boolean
}

export type Script = (call: UpstreamCall, res: ServerResponse) => void | Promise<void>

export interface ScriptedUpstream {
  /** Base URL for a Channel. */
  baseURL: string
  calls: UpstreamCall[]
  server: Server
  /** Replaces the script. */
  answer(script: Script): void
  close(): Promise<void>
}

/** With `tls` it serves HTTPS. */
export async function startUpstream(
  script: Script = chatAnswer(),
  tls?: TlsOptions,
): Promise<ScriptedUpstream> {
  let current = script
  const calls: UpstreamCall[] = []
  const serve: RequestListener = async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const { method = '', url = '', headers } = req
    const call: UpstreamCall = { method, path: url, headers, body: Buffer.concat(chunks), aborted: false }
    calls.push(call)
    res.on('close', () => {
      call.aborted = !res.writableFinished
    })
    res.on('error', () => undefined)
    await current(call, res)
  }
  const server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    baseURL: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    server,
    answer: (next) => {
      current = next
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export interface ChatOptions {
  content?: string
  usage?: object | null
}

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

/** Answers a chat completion like the hosted API: JSON, or a stream if the body requests one. */
export function chatAnswer({ content = 'Hello there', usage = USAGE }: ChatOptions = {}): Script {
  return (call, res) => {
    const request = JSON.parse(call.body.toString()) as {
      model: string
      stream?: boolean
      stream_options?: { include_usage?: boolean }
    }
    if (request.stream !== true) return json(res, 200, completion(request.model, content, usage))
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of chatEvents(
      request.model,
      content,
      request.stream_options?.include_usage ? usage : null,
    ))
      res.write(event)
    res.end('data: [DONE]\n\n')
  }
}

export function completion(model: string, content: string, usage: object | null): object {
  const message = { role: 'assistant', content, refusal: null }
  const choices = [{ index: 0, message, finish_reason: 'stop', logprobs: null }]
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model,
    choices,
    ...(usage === null ? {} : { usage }),
  }
}

/** The events of a stream, one delta per word, without the final [DONE]. */
export function chatEvents(model: string, content: string, usage: object | null): string[] {
  const chunk = (choices: object[], more: object = {}) =>
    `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model, choices, ...more })}\n\n`
  const delta = (d: object, finish: string | null = null) =>
    chunk([{ index: 0, delta: d, finish_reason: finish }])
  return [
    delta({ role: 'assistant', content: '', refusal: null }),
    ...content.split(/(?<= )/).map((word) => delta({ content: word })),
    delta({}, 'stop'),
    ...(usage === null ? [] : [chunk([], { usage })]),
  ]
}

export function json(
  res: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers })
  res.end(JSON.stringify(body))
}
