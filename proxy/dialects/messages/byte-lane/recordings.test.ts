/** Answers of real upstreams (the folder that RECORDINGS names) through the byte lane, against plain JSON.parse. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import '../../index.ts'
import { parseRequest } from '../request.ts'
import { mergeUsage, readUsage } from '../usage.ts'
import { readAnswer } from './answer.ts'
import { MessagesStreamObserver } from './stream.ts'

const { RECORDINGS } = process.env
const folder = RECORDINGS === undefined ? undefined : join(RECORDINGS, 'messages')
const files = folder === undefined ? [] : readdirSync(folder)
const BODY = { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }] }
const REQUEST = parseRequest(Buffer.from(JSON.stringify(BODY)), { maxDepth: 9, maxKeys: 99 }, {})

if (folder === undefined) {
  test('recordings of real upstreams are read only when RECORDINGS names their folder', () => {
    expect(RECORDINGS).toBeUndefined()
  })
} else {
  describe.each(files.filter((file) => file.endsWith('.sse')))('%s', (file) => {
    const recorded = readFileSync(join(folder, file)).toString('utf8')
    // Some files contain several messages; the first is the answer.
    const bytes = Buffer.from(
      recorded.replace(/(?<=\ndata: ?\{"type": ?"message_stop"[^\n]*\n\n)[\s\S]*/, ''),
    )
    const events = [...bytes.toString('utf8').matchAll(/^data: ?(.*)$/gm)].map(([, data = '']) =>
      JSON.parse(data),
    )
    const start = events.find(({ type }) => type === 'message_start')
    const end = events.findLast(({ type }) => type === 'message_delta')
    const written = events
      .map(({ delta }) => delta?.text ?? delta?.thinking ?? delta?.partial_json ?? '')
      .filter((text) => text !== '')

    test.each([1, 7, 1000, bytes.length])('in chunks of %i bytes', (size) => {
      const observer = new MessagesStreamObserver(REQUEST, 1_000_000)
      const passed: Buffer[] = []
      for (let at = 0; at < bytes.length; at += size) {
        passed.push(observer.push(bytes.subarray(at, at + size)) ?? Buffer.alloc(0))
      }
      passed.push(observer.flush() ?? Buffer.alloc(0))
      expect(Buffer.concat(passed).toString().trimEnd()).toBe(bytes.toString().trimEnd())
      expect(observer.finished).toBe(events.some(({ type }) => type === 'message_stop'))
      expect(observer.usage).toEqual(readUsage(mergeUsage(start.message.usage, end.usage)))
      expect(observer.delivered.deltas).toBe(written.length)
      expect(observer.delivered.bytes).toBe(Buffer.byteLength(written.join('')))
    })
  })

  test.each(files.filter((file) => file.endsWith('.json')))('%s', (file) => {
    const body = readFileSync(join(folder, file))
    const value = JSON.parse(body.toString('utf8'))
    const answer = readAnswer(body, REQUEST, false)
    if (value.error) expect(answer).toMatchObject({ class: expect.stringMatching(/caller_fault|model_gone/) })
    else expect(answer).toMatchObject({ body, usage: readUsage(value.usage) })
  })
}
