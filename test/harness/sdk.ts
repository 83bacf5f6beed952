/** The official Node SDKs, configured for the gateway as docs/clients.md says. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { type ClientOptions } from 'openai'

/** An OpenAI client; `path` is what follows the gateway's address in its base URL. */
export const openai = (
  base: string,
  apiKey: string,
  { path = '/v1', ...more }: ClientOptions & { path?: string } = {},
): OpenAI => new OpenAI({ baseURL: `${base}${path}`, apiKey, ...more })

export const anthropic = (base: string, apiKey: string): Anthropic => new Anthropic({ baseURL: base, apiKey })

export const HELLO: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hello' }]

/** The rejection of a promise. Throws if it resolves. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  const outcome = await promise.then(
    () => 'resolved',
    (error: unknown) => ({ error }),
  )
  if (typeof outcome === 'string') throw new Error('the promise should have rejected')
  return outcome.error
}

/** All items of an iterable. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
