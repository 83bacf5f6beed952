/**
 * The gateway, a scripted upstream behind one channel of each type, and the official SDKs, whose answers are read into
 * one shape.
 */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { type RunningGateway, startGateway } from '../../harness/gateway.ts'
import { type Feature, recordCell, resultOf } from '../../harness/matrix.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'
import { type ReadAnswer, readChat, readMessages, readResponses } from './read-answer.ts'
import type { DialectName } from './scripted-answer.ts'

export const KEY = 'sk-dialects-0123456789'
export const TYPES = { chat: 'chat_completion', responses: 'responses', messages: 'messages' } as const

export interface World {
  upstream: ScriptedUpstream
  gateway: RunningGateway
  openai: OpenAI
  anthropic: Anthropic
  /** Headers of the last answer that one of the SDKs received. */
  headers(): Headers
  /** Body of the upstream's last request. */
  sent(): Record<string, unknown>
  /** Losses in the last answer's headers. */
  dropped(): string[]
  /** Records a cell of the conversion matrix as passed, with the losses of the last answer. */
  passed(client: DialectName, upstream: DialectName, feature: Feature): void
  close(): Promise<void>
}

/**
 * Models `chat`, `responses` and `messages` go to the channel of that name; `more` adds resources, which may refer to
 * these channels. `baseURL` replaces the scripted upstream by another one. `env` adds settings.
 */
export async function startWorld(
  more = '',
  baseURL?: string,
  env: Record<string, string> = {},
): Promise<World> {
  const upstream = await startUpstream()
  const base = baseURL ?? upstream.baseURL
  const gateway = await startGateway({ 'all.yaml': resources(base) + more }, env)
  let headers = new Headers()
  const seenFetch: typeof fetch = async (...args) => {
    const response = await fetch(...args)
    headers = response.headers
    return response
  }
  const world: World = {
    upstream,
    gateway,
    openai: new OpenAI({ baseURL: `${gateway.base}/v1`, apiKey: KEY, maxRetries: 0, fetch: seenFetch }),
    anthropic: new Anthropic({ baseURL: gateway.base, apiKey: KEY, maxRetries: 0, fetch: seenFetch }),
    headers: () => headers,
    sent: () => JSON.parse(upstream.calls.at(-1)?.body.toString() ?? '') as Record<string, unknown>,
    dropped: () => headers.get('x-sluice-dropped')?.split(', ') ?? [],
    passed(client, to, feature) {
      const result = client === to ? { result: 'byte' as const } : resultOf(feature, world.dropped())
      recordCell({
        client,
        upstream: to,
        feature,
        by: baseURL === undefined ? 'sdk' : 'third-party',
        ...result,
      })
    },
    async close() {
      await gateway.stop()
      await upstream.close()
    },
  }
  return world
}

/** A channel of each type with the same base URL, a route to each, and the key. */
function resources(base: string): string {
  const spec = { ejection: { consecutiveFailures: 0 } }
  return [
    apiKey('key', KEY),
    ...Object.entries(TYPES).map(([name, type]) => {
      const url = name === 'messages' ? base.replace(/\/v1$/, '') : base
      return channel(name, url, { ...spec, type }) + route(name, name, [name], { retry: { attempts: 1 } })
    }),
  ].join('')
}

/** Parameters of a request in each dialect, without `model` and `stream`. */
export interface RequestParams {
  chat: Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model' | 'stream'>
  responses: Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'model' | 'stream'>
  messages: Omit<Anthropic.MessageCreateParamsNonStreaming, 'model' | 'stream'>
}

/** Sends a request with the client dialect's SDK (a stream with its strict helper) and reads the answer. */
export async function ask(
  { openai, anthropic }: Pick<World, 'openai' | 'anthropic'>,
  client: DialectName,
  model: string,
  params: RequestParams,
  stream: boolean,
): Promise<ReadAnswer> {
  switch (client) {
    case 'chat': {
      const body = { ...params.chat, model }
      if (!stream) return readChat(await openai.chat.completions.create(body))
      const stream_options = { include_usage: true }
      const helper = openai.chat.completions.stream({ ...body, stream_options })
      // The helper keeps only the last delta of unknown fields.
      let reasoning = ''
      helper.on('chunk', ({ choices }) => {
        const delta = choices[0]?.delta as { reasoning_content?: string } | undefined
        reasoning += delta?.reasoning_content ?? ''
      })
      return { ...readChat(await helper.finalChatCompletion()), reasoning }
    }
    case 'responses': {
      const body = { ...params.responses, model }
      if (!stream) return readResponses(await openai.responses.create(body))
      return readResponses(await openai.responses.stream(body).finalResponse())
    }
    case 'messages': {
      const body = { ...params.messages, model }
      if (!stream) return readMessages(await anthropic.messages.create(body))
      return readMessages(await anthropic.messages.stream(body).finalMessage())
    }
  }
}

/** A request with one user message. */
export const question = (text: string): RequestParams => ({
  chat: { messages: [{ role: 'user', content: text }] },
  responses: { input: text },
  messages: { max_tokens: 1000, messages: [{ role: 'user', content: text }] },
})
