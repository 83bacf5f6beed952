/** Answers of real upstreams (the folder that RECORDINGS names) through the byte lane, against plain JSON.parse. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import '../../index.ts'
import { isRecord } from '../../core/json/value.ts'
import { parseRequest } from '../request.ts'
import { readUsage } from '../usage.ts'
import { readAnswer } from './answer.ts'
import { ResponsesStreamObserver } from './stream.ts'

const { RECORDINGS } = process.env
const folder =
  RECORDINGS === undefined ? join(import.meta.dirname, '__fixtures__') : join(RECORDINGS, 'responses')
const title =
  RECORDINGS === undefined ? 'own fixtures (RECORDINGS is not set)' : 'recordings of real upstreams'
const files = readdirSync(folder)
const streams = files.filter((file) => file.endsWith('.sse'))
const answers = files.filter((file) => file.endsWith('.json'))
const REQUEST = parseRequest(Buffer.from('{"model":"m","input":"Hi","stream":true}'), {
  maxDepth: 64,
  maxKeys: 1000,
})

/** The usage of a response, with the calls of hosted tools in its output. */
function counted({ usage, output }: Record<string, unknown>) {
  const read = readUsage(usage)
  const items = Array.isArray(output) ? output.filter(isRecord) : []
  const count = (type: string) =>
    items.filter((item) => item.type === type && (!isRecord(item.action) || item.action.type === 'search'))
      .length
  const calls = {
    webSearch: count('web_search_call'),
    fileSearch: count('file_search_call'),
    codeInterpreter: items.filter((item) => item.type === 'code_interpreter_call').length,
  }
  return read && { ...read, ...Object.fromEntries(Object.entries(calls).filter(([, n]) => n > 0)) }
}

/** Reads the stream with JSON.parse: the text and the value of each event. */
function slowly(bytes: Buffer) {
  const events = bytes
    .toString('utf8')
    .split(/(?<=\r\n\r\n|\n\n)/)
    .map((text) => {
      const data = /^data: ?(.*?)\r?$/m.exec(text)?.[1] ?? ''
      const value: unknown = data.startsWith('{') ? JSON.parse(data) : {}
      return { text, value: isRecord(value) ? value : {} }
    })
  const failed = events.findIndex(({ value }) => value.type === 'response.failed' || value.type === 'error')
  const last = events.findIndex(({ value }) => /^response\.(completed|incomplete)$/.test(String(value.type)))
  const read = failed >= 0 ? events.slice(0, failed) : last >= 0 ? events.slice(0, last + 1) : events
  const end = events[failed >= 0 ? failed : last]?.value.response
  const deltas = read.flatMap(({ value }) => (typeof value.delta === 'string' ? [value.delta] : []))
  return {
    text: read.map((event) => event.text).join(''),
    failed: failed >= 0,
    finished: failed < 0 && last >= 0,
    usage: isRecord(end) ? counted(end) : undefined,
    delivered: { deltas: deltas.length, bytes: Buffer.byteLength(deltas.join('')) },
  }
}

describe(title, () => {
  test('streams and answers exist', () => {
    expect(streams.length).toBeGreaterThan(2)
    expect(answers.length).toBeGreaterThan(1)
  })

  describe.each(streams)('%s', (file) => {
    const bytes = readFileSync(join(folder, file))
    const expected = slowly(bytes)

    test.each([1, 64, 1000, bytes.length])('in chunks of %i bytes', (size) => {
      const observer = new ResponsesStreamObserver(REQUEST, 10_000_000)
      const passed: Buffer[] = []
      for (let from = 0; from < bytes.length; from += size) {
        passed.push(observer.push(bytes.subarray(from, from + size)) ?? Buffer.alloc(0))
      }
      passed.push(observer.flush() ?? Buffer.alloc(0))
      expect(Buffer.concat(passed).toString()).toBe(expected.text)
      expect(observer.finished).toBe(expected.finished)
      expect(observer.failure !== undefined).toBe(expected.failed)
      expect(observer.usage).toEqual(expected.usage)
      expect(observer.delivered).toEqual(expected.delivered)
    })
  })

  describe.each(answers)('%s', (file) => {
    const body = readFileSync(join(folder, file))
    const value: unknown = JSON.parse(body.toString('utf8'))
    const fields = isRecord(value) ? value : {}

    test.each([false, true])('as a stream: %s', (asStream) => {
      const answer = readAnswer(body, REQUEST, asStream)
      const isYetToCome = fields.status === 'queued' || fields.status === 'in_progress'
      if (!Array.isArray(fields.output) || fields.error || (asStream && isYetToCome)) {
        expect(answer).toMatchObject({ status: 200, class: expect.any(String) })
        return
      }
      if (!('body' in answer)) throw new Error('no answer')
      expect(answer.usage).toEqual(counted(fields))
      if (!asStream) {
        expect(answer.body).toBe(body)
        return
      }
      const read = slowly(answer.body)
      expect(read).toMatchObject({ finished: true, usage: answer.usage })
    })
  })
})
