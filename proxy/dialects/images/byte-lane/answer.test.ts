import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { zeroUsage } from '../../../../contract/usage.ts'
import { sseEvents } from '../../core/sse/events.ts'
import { imageEdits, images } from '../index.ts'
import { editForm, generation, VALID_FORM, VALID_REQUEST } from '../testing.ts'

const REQUEST = generation(VALID_REQUEST)
const USAGE = {
  input_tokens: 50,
  input_tokens_details: { text_tokens: 10, image_tokens: 40, cached_tokens: 20 },
  output_tokens: 1056,
  total_tokens: 1106,
}

function read(value: unknown, asStream = false) {
  return images.byteLane.readAnswer(Buffer.from(JSON.stringify(value)), REQUEST, asStream)
}

describe('a whole answer', () => {
  test('passes unchanged, and its tokens and images are counted', () => {
    const body = Buffer.from(
      `{ "created":1, "data":[{"b64_json":"AA"},{"url":"https://e.x"},{}], "usage":${JSON.stringify(USAGE)} }`,
    )
    const answer = images.byteLane.readAnswer(body, REQUEST, false)
    expect(answer).toEqual({
      body,
      usage: { ...zeroUsage(), input: 30, imageInput: 30, cachedInput: 20, output: 1056, images: 2 },
      delivered: { deltas: 0, bytes: 0, images: 2 },
    })
    expect('body' in answer && answer.body).toBe(body)
  })

  test.each([
    undefined,
    { input_tokens: 1 },
    { input_tokens: 1, output_tokens: 0.5 },
    { input_tokens: 1, output_tokens: 1, input_tokens_details: { cached_tokens: 0.5 } },
  ])('without token counts there is no usage: %j', (usage) => {
    const answer = read({ data: [{ b64_json: 'AA' }], usage })
    expect(answer).not.toHaveProperty('usage')
    expect(answer).toMatchObject({ delivered: { deltas: 0, bytes: 0, images: 1 } })
  })

  test.each([
    [{ error: { code: 'insufficient_quota' } }, { class: 'quota', status: 200 }],
    [{ data: [] }, { class: 'unknown', status: 200, detail: 'no_answer' }],
    [{ data: [{ b64_json: '' }, { url: 5 }, null] }, { detail: 'no_answer' }],
    [{ created: 1 }, { detail: 'no_answer' }],
    [[], { detail: 'no_answer' }],
  ])('%j is a failure', (value, failure) => {
    expect(read(value)).toMatchObject(failure)
  })
})

describe('as a stream, for an upstream that does not stream', () => {
  const ANSWER = {
    created: 9,
    size: '1x1',
    quality: 'low',
    background: 'opaque',
    output_format: 'png',
    data: [{ b64_json: 'AA', revised_prompt: 'x' }, { url: 'https://e.x' }],
    usage: USAGE,
  }
  const shared = { created_at: 9, size: '1x1', quality: 'low', background: 'opaque', output_format: 'png' }

  test('has an event for each image', () => {
    const answer = read(ANSWER, true)
    const events = 'body' in answer ? sseEvents(answer.body) : []
    const type = 'image_generation.completed'
    expect(events.map(({ event, data }) => ({ event, data: JSON.parse(data) }))).toEqual([
      { event: type, data: { type, b64_json: 'AA', ...shared } },
      { event: type, data: { type, url: 'https://e.x', ...shared, usage: USAGE } },
    ])
    expect(answer).toMatchObject({ usage: { output: 1056, images: 2 }, delivered: { images: 2 } })
  })

  test('uses the event names of edits', () => {
    const body = Buffer.from('{"data":[{"b64_json":"AA"}]}')
    const answer = imageEdits.byteLane.readAnswer(body, editForm(VALID_FORM), true)
    expect('body' in answer && answer.body.toString()).toBe(
      'event: image_edit.completed\ndata: {"type":"image_edit.completed","b64_json":"AA"}\n\n',
    )
  })
})

const { RECORDINGS } = process.env
const folder = join(RECORDINGS ?? '', 'images')
const files = RECORDINGS === undefined ? [] : readdirSync(folder)

test(RECORDINGS ? 'recordings are available' : 'RECORDINGS is not set: no recordings are read', () => {
  expect(files.length > 0).toBe(Boolean(RECORDINGS))
})

test.each(files)('a real answer: %s', (file) => {
  const body = readFileSync(join(folder, file))
  const { data } = JSON.parse(body.toString())
  expect(images.byteLane.readAnswer(body, REQUEST, false)).toEqual({
    body,
    delivered: { deltas: 0, bytes: 0, images: data.length },
  })
})
