/**
 * Recorded answers of real upstreams (in the folder RECORDINGS), read twice by the official SDK: directly from an upstream
 * that replays them, and through the gateway. Both results must be equal.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { ROOT } from '../harness/program.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { HELLO, openai } from '../harness/sdk.ts'
import { type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-recordings-0123456789'
const { RECORDINGS } = process.env
const folder =
  RECORDINGS === undefined ? join(ROOT, 'proxy/dialects/chat/__fixtures__') : join(RECORDINGS, 'chat')
const title =
  RECORDINGS === undefined ? 'own fixtures (RECORDINGS is not set)' : 'recordings of real upstreams'

const statusOf = statuses()
const files = readdirSync(folder)
const streams = files.filter((file) => file.endsWith('.sse'))
const answers = files.filter((file) => file.endsWith('.json'))

/** Status by file name; unlisted files have 200. */
function statuses(): Map<string, number> {
  const entry = z.object({ file: z.string(), status: z.number() })
  if (RECORDINGS === undefined) return new Map()
  const lines = readFileSync(join(RECORDINGS, 'index.jsonl'), 'utf8').split('\n').filter(Boolean)
  return new Map(lines.map((line) => entry.parse(JSON.parse(line))).map(({ file, status }) => [file, status]))
}

let upstream: ScriptedUpstream
let gateway: RunningGateway
let direct: OpenAI
let through: OpenAI

beforeAll(async () => {
  upstream = await startUpstream()
  gateway = await startGateway({
    'all.yaml':
      channel('up', upstream.baseURL) +
      route('m', 'm', ['up'], { retry: { attempts: 1 } }) +
      apiKey('key', KEY),
  })
  direct = openai(upstream.baseURL, 'any', { path: '', maxRetries: 0 })
  through = openai(gateway.base, KEY)
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

/** Makes the upstream replay a recording in chunks that split events and characters. */
function replay(file: string): void {
  const bytes = readFileSync(join(folder, file))
  const status = statusOf.get(`chat/${file}`) ?? 200
  upstream.answer(async (_call, res) => {
    const type = file.endsWith('.sse') ? 'text/event-stream' : 'application/json'
    res.writeHead(status, { 'content-type': type })
    for (let at = 0; at < bytes.length; at += 1_021) {
      res.write(bytes.subarray(at, at + 1_021))
      await new Promise(setImmediate)
    }
    res.end()
  })
}

/** The SDK's result, or the class of its error. */
async function outcome<T>(
  look: () => Promise<T>,
): Promise<T | { threw: string; status: number | undefined }> {
  try {
    return await look()
  } catch (error) {
    if (!(error instanceof OpenAI.APIError)) throw error
    return { threw: error.constructor.name, status: error.status }
  }
}

async function chunks(client: OpenAI, include_usage: boolean) {
  const seen: OpenAI.ChatCompletionChunk[] = []
  const stream_options = { include_usage }
  const end = await outcome(async () => {
    const stream = await client.chat.completions.create({
      model: 'm',
      messages: HELLO,
      stream: true,
      stream_options,
    })
    for await (const chunk of stream) seen.push(chunk)
  })
  return { seen, end }
}

describe(title, () => {
  it('has streams and answers', () => {
    expect(streams.length).toBeGreaterThan(2)
    expect(answers.length).toBeGreaterThan(1)
  })

  it.each(answers)('%s', async (file) => {
    replay(file)
    const ask = (client: OpenAI) =>
      outcome(() => client.chat.completions.create({ model: 'm', messages: HELLO }))
    const [expected, got] = [await ask(direct), await ask(through)]
    // The SDK accepts an error under status 200 as an answer; the gateway does not.
    if ('error' in expected) expect(got).toHaveProperty('threw')
    else expect(got).toEqual(expected)
    expect('threw' in expected).toBe((statusOf.get(`chat/${file}`) ?? 200) !== 200)
  })

  it.each(streams)('%s, every chunk', async (file) => {
    replay(file)
    const expected = await chunks(direct, true)
    expect(expected.seen.length).toBeGreaterThan(0)
    expect(await chunks(through, true)).toEqual(withGatewayEnd(expected))
  })

  it.each(streams)('%s, without unrequested usage', async (file) => {
    replay(file)
    const expected = withGatewayEnd(await chunks(direct, false))
    const got = await chunks(through, false)
    expect(choicesOf(got.seen)).toEqual(choicesOf(expected.seen))
    expect(got.end).toEqual(expected.end)
  })
})

/** Through the gateway a stream without finish reason is an error; the SDK alone accepts it. */
function withGatewayEnd({ seen, end }: Awaited<ReturnType<typeof chunks>>) {
  const finished = seen.some(({ choices }) => choices.some(({ finish_reason }) => finish_reason))
  return { seen, end: finished ? end : { threw: 'APIError', status: undefined } }
}

/** The choices of each chunk, without empty ones. */
const choicesOf = (all: OpenAI.ChatCompletionChunk[]) =>
  all
    .map(({ choices }) => choices.map(({ delta, finish_reason }) => ({ delta, finish_reason })))
    .filter((choices) => choices.length > 0)
