/** Answers of real upstreams (the folder that RECORDINGS names) through the dialect, against plain JSON.parse. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import '../../index.ts'
import { chat } from '../index.ts'
import { readUsage } from '../usage.ts'

const { RECORDINGS } = process.env
const folder =
  RECORDINGS === undefined ? join(import.meta.dirname, '../__fixtures__') : join(RECORDINGS, 'chat')
const title =
  RECORDINGS === undefined ? 'own fixtures (RECORDINGS is not set)' : 'recordings of real upstreams'
const files = readdirSync(folder)
const streams = files.filter((file) => file.endsWith('.sse'))
const answers = files.filter((file) => file.endsWith('.json'))

function request(include_usage: boolean) {
  const body = {
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
    stream: true,
    stream_options: { include_usage },
  }
  return chat.parseRequest(Buffer.from(JSON.stringify(body)), { maxDepth: 64, maxKeys: 1000 }, {})
}

/** The fully parsed stream: its events as text, and their data. */
function slowly(bytes: Buffer) {
  const events = bytes
    .toString('utf8')
    .split(/(?<=\r\n\r\n|\n\n)/)
    .map((text) => {
      const data = /^data: ?(.*?)\r?$/m.exec(text)?.[1] ?? ''
      return { text, done: data === '[DONE]', chunk: data.startsWith('{') ? JSON.parse(data) : {} }
    })
  const failed = events.findIndex(({ chunk }) => chunk.error)
  const read = failed < 0 ? events : events.slice(0, failed)
  return {
    failed: failed >= 0,
    read,
    done: read.some((e) => e.done),
    stopped: read.some(({ chunk }) =>
      chunk.choices?.some((c: { finish_reason?: string }) => c.finish_reason),
    ),
    usage: read.map(({ chunk }) => readUsage(chunk.usage)).findLast((u) => u !== undefined),
    tier: read.map(({ chunk }) => chunk.service_tier).findLast((t) => t !== undefined),
  }
}

function chunksOf(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, (i + 1) * size),
  )
}

describe(title, () => {
  test('streams and answers exist', () => {
    expect(streams.length).toBeGreaterThan(2)
    expect(answers.length).toBeGreaterThan(1)
  })

  describe.each(streams)('%s', (file) => {
    const bytes = readFileSync(join(folder, file))
    const expected = slowly(bytes)

    test.each([1, 7, 64, 1000, 65_536, bytes.length])('in chunks of %i bytes', (size) => {
      for (const wantsUsage of [true, false]) {
        const observer = chat.byteLane.observe(request(wantsUsage), 1_000_000, true)
        const passed = chunksOf(bytes, size).map((chunk) => observer.push(chunk) ?? Buffer.alloc(0))
        passed.push(observer.flush() ?? Buffer.alloc(0))
        const kept = expected.read.filter(
          ({ chunk }) => wantsUsage || !chunk.usage || chunk.choices?.length > 0,
        )
        const finished = !expected.failed && (expected.done || expected.stopped)
        const ending = finished && !expected.done ? 'data: [DONE]\n\n' : ''
        expect(Buffer.concat(passed).toString()).toBe(kept.map((e) => e.text).join('') + ending)
        expect(observer.finished).toBe(finished)
        expect(observer.failure !== undefined).toBe(expected.failed)
        expect(observer.usage).toEqual(expected.usage)
        expect(observer.tier).toBe(expected.tier)
        expect(observer.delivered).toEqual(deliveredIn(expected.read.map((e) => e.chunk)))
      }
    })
  })

  test.each(answers)('%s', (file) => {
    const body = readFileSync(join(folder, file))
    const value = JSON.parse(body.toString('utf8'))
    const answer = chat.byteLane.readAnswer(body, request(false), false)
    if (value.error) {
      expect(answer).toMatchObject({ class: 'caller_fault' })
    } else {
      expect(answer).toMatchObject({ body, usage: readUsage(value.usage) })
      expect('tier' in answer ? answer.tier : undefined).toBe(value.service_tier)
    }
  })
})

/** Counts the model’s output in parsed chunks; escapes other than plain UTF-8 are not in the files. */
function deliveredIn(chunks: { choices?: { delta?: Record<string, unknown> }[] }[]) {
  const texts: string[] = []
  const collect = (value: unknown, key = '') => {
    if (
      typeof value === 'string' &&
      /^(content|reasoning_content|reasoning|refusal|arguments|input)$/.test(key)
    )
      texts.push(value)
    else if (typeof value === 'object' && value !== null)
      for (const [k, v] of Object.entries(value)) collect(v, k)
  }
  for (const chunk of chunks) for (const choice of chunk.choices ?? []) collect(choice.delta)
  const written = texts.filter((text) => text !== '')
  const text = written.join('')
  // Three bytes each, which count as four.
  const wide = text.match(/[\u2e80-\ud7ff\ue000-\uffff]/g)?.length ?? 0
  return { deltas: written.length, bytes: Buffer.byteLength(text) + wide }
}
