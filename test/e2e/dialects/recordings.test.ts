/**
 * Answers of real upstreams (the folder that RECORDINGS names) through every pair, read by the official SDK of the
 * client's dialect: text, calls and usage are what a fold of the bytes makes of them, and an error stays one.
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

it(RECORDINGS ? 'recordings are at hand' : 'RECORDINGS is not set: none is replayed', () => {
  expect(DIALECTS.every((dialect) => files(dialect).length > 0)).toBe(Boolean(RECORDINGS))
})

/** Makes the upstream repeat a recording, in pieces that respect neither events nor characters. */
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

const cases = PAIRS.flatMap(({ client, upstream }) =>
  files(upstream).map((file) => ({ client, upstream, file })),
)

it.each(cases)('$upstream read by $client: $file', async ({ client, upstream, file }) => {
  const bytes = readFileSync(join(RECORDINGS ?? '', upstream, file))
  const status = statuses.get(`${upstream}/${file}`) ?? 200
  const expected = foldRecording(upstream, file, bytes.toString())
  replay(file, bytes, status)
  const stream = file.endsWith('.sse')
  const read = (through: Pick<World, 'openai' | 'anthropic'>) =>
    ask(through, client, upstream, question('Hello'), stream)
  if (status !== 200 || expected.end === 'error' || (expected.end === 'cut' && stream)) {
    await expectError(read(world), status)
    if (status !== 200) seen('upstream error')
    return
  }
  if (client === upstream) {
    // Where an upstream goes on behind the end of its answer, the gateway does not, and the SDK alone would fail.
    const straight = await read(direct).catch(() => undefined)
    if (straight) expect(await read(world)).toEqual(straight)
  }
  if (expected.end === 'cut') {
    // Bytes pass; nobody else is told that the answer is whole.
    if (client !== upstream) await expectError(read(world), 502)
    return
  }
  const { text, calls, counts } = await read(world)
  expect({ text, calls: calls.map(parsed) }).toEqual({
    text: expected.text,
    calls: expected.calls.map(parsed),
  })
  if (expected.counts && client !== upstream) expect(counts).toEqual(expected.counts)
  seen(stream ? 'stream' : 'JSON')
  if (expected.counts) seen('usage')
  if (calls.length > 0) seen('tools')
  if (calls.length > 1) seen('parallel tools')
  if (expected.reasoning !== '') seen('reasoning')

  function seen(feature: Feature) {
    recordCell({ client, upstream, feature, by: 'recording', result: client === upstream ? 'byte' : 'exact' })
  }
})

/** By a status before the answer; in it by an error, or by the helper's own word for a failed response. */
async function expectError(answer: Promise<ReadAnswer>, status: number): Promise<void> {
  const told = await answer.then(
    ({ end, text, calls }) => ({ end, text, calls }),
    (error: { status?: number }) => error,
  )
  if (told instanceof Error) {
    if (status !== 200) expect(told).toMatchObject({ status: expect.any(Number) })
  } else expect(told).toMatchObject({ end: 'failed' })
}

/** Spaces in arguments are nothing to compare. */
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
