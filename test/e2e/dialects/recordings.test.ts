/**
 * Recorded answers of real upstreams (in the folder RECORDINGS) for every pair of dialects, read by the client dialect's
 * official SDK: text, calls and usage equal those in the recorded bytes, and errors stay errors.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Feature, recordCell } from '../../harness/matrix.ts'
import type { ReadAnswer } from './read-answer.ts'
import { foldRecording } from './recorded.ts'
import { DIALECTS, type DialectName, PAIRS } from './scripted-answer.ts'
import { ask, question, startWorld, type World } from './world.ts'

const { RECORDINGS } = process.env
const statuses = new Map<string, number>(
  (RECORDINGS ? readFileSync(join(RECORDINGS, 'index.jsonl'), 'utf8').split('\n').filter(Boolean) : [])
    .map((line) => JSON.parse(line) as { file: string; status: number })
    .map(({ file, status }) => [file, status]),
)
const files = (dialect: DialectName) => (RECORDINGS ? readdirSync(join(RECORDINGS, dialect)) : [])

let world: World
let direct: Pick<World, 'openai' | 'anthropic'>
beforeAll(async () => {
  world = await startWorld()
  const { baseURL } = world.upstream
  direct = {
    openai: new OpenAI({ baseURL, apiKey: 'any', maxRetries: 0 }),
    anthropic: new Anthropic({ baseURL: baseURL.replace(/\/v1$/, ''), apiKey: 'any', maxRetries: 0 }),
  }
})
afterAll(() => world?.close())

it(RECORDINGS ? 'recordings are available' : 'RECORDINGS is not set: none is replayed', () => {
  expect(DIALECTS.every((dialect) => files(dialect).length > 0)).toBe(Boolean(RECORDINGS))
})

/** Makes the upstream replay a recording in chunks that split events and characters. */
function replay(name: string, bytes: Buffer, status: number): void {
  world.upstream.answer(async (_call, res) => {
    res.writeHead(status, {
      'content-type': name.endsWith('.sse') ? 'text/event-stream' : 'application/json',
    })
    for (let at = 0; at < bytes.length; at += 4_099) {
      res.write(bytes.subarray(at, at + 4_099))
      await new Promise(setImmediate)
    }
    res.end()
  })
}

const CASES = PAIRS.flatMap(({ client, upstream }) =>
  files(upstream).map((file) => ({ client, upstream, file })),
)

it.each(CASES)('$upstream read by $client: $file', async ({ client, upstream, file }) => {
  const bytes = readFileSync(join(RECORDINGS ?? '', upstream, file))
  const status = statuses.get(`${upstream}/${file}`) ?? 200
  const expected = foldRecording(upstream, file, bytes.toString())
  replay(file, bytes, status)
  const stream = file.endsWith('.sse')
  const read = (through: Pick<World, 'openai' | 'anthropic'>) =>
    ask(through, client, upstream, question('Hello'), stream)
  if (status !== 200 || expected.end === 'error' || (expected.end === 'cut' && stream)) {
    await expectError(read(world), status)
    if (status !== 200) record('upstream error')
    return
  }
  if (client === upstream) {
    // The SDK fails if the upstream continues after the end of its answer, which the gateway cuts off.
    const straight = await read(direct).catch(() => undefined)
    if (straight) expect(await read(world)).toEqual(straight)
  }
  if (expected.end === 'cut') {
    // On the byte lane the bytes pass; other clients must get an error.
    if (client !== upstream) await expectError(read(world), 502)
    return
  }
  const { text, calls, counts } = await read(world)
  expect({ text, calls: calls.map(parsed) }).toEqual({
    text: expected.text,
    calls: expected.calls.map(parsed),
  })
  if (expected.counts && client !== upstream) expect(counts).toEqual(expected.counts)
  record(stream ? 'stream' : 'JSON')
  if (expected.counts) record('usage')
  if (calls.length > 0) record('tools')
  if (calls.length > 1) record('parallel tools')
  if (expected.reasoning !== '') record('reasoning')

  function record(feature: Feature) {
    recordCell({ client, upstream, feature, by: 'recording', result: client === upstream ? 'byte' : 'exact' })
  }
})

/** Expects an error status, an error in the stream, or a failed response from the responses helper. */
async function expectError(answer: Promise<ReadAnswer>, status: number): Promise<void> {
  const outcome = await answer.then(
    ({ end, text, calls }) => ({ end, text, calls }),
    (error: { status?: number }) => error,
  )
  if (outcome instanceof Error) {
    if (status !== 200) expect(outcome).toMatchObject({ status: expect.any(Number) })
  } else expect(outcome).toMatchObject({ end: 'failed' })
}

/** Parses arguments, so that spaces in them do not matter. */
const parsed = ({ input, ...call }: { id: string; name: string; input: string }) => ({
  ...call,
  input: input === '' ? {} : (tryJson(input) ?? input),
})

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
