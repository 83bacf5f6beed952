/** Conversions between conversations and images: the bodies for the upstream and for the client. */
import { describe, expect, it } from 'vitest'
import { featuresOf } from '../../../../contract/profiles.ts'
import { zeroUsage } from '../../../../contract/usage.ts'
import { GatewayError } from '../../../errors.ts'
import { chat } from '../../chat/index.ts'
import { imageEdits, images } from '../../images/index.ts'
import { messages } from '../../messages/index.ts'
import { responses } from '../../responses/index.ts'
import type { Dialect } from '../dialect.ts'
import { convert, hubLane } from '../lanes/hub.ts'
import { sseEvents } from '../sse/events.ts'

const PNG = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1').toString('base64')
const ANSWER = {
  created: 5,
  data: [{ b64_json: PNG, revised_prompt: 'A fat cat' }],
  output_format: 'png',
  usage: { input_tokens: 50, output_tokens: 1000 },
}
const BILLED = { ...zeroUsage(), input: 50, output: 1000, images: 1 }
const MARKDOWN = `![image](data:image/png;base64,${PNG})`
const ITEM = {
  id: 'ig_X00',
  type: 'image_generation_call',
  status: 'completed',
  output_format: 'png',
  revised_prompt: 'A fat cat',
  result: PNG,
}

function laneOf(client: Dialect, upstream: Dialect, body: object, unsupported: 'Drop' | 'Reject' = 'Drop') {
  const bytes = Buffer.from(JSON.stringify({ model: 'm', ...body }))
  const parsed = client.parseRequest(bytes, { maxDepth: 20, maxKeys: 200 }, {})
  const envelopes = { seal: () => '', open: () => 'foreign' as const }
  const request = client.codec.decodeRequest(parsed, envelopes)
  const about = { request, parsed, id: 'X', created: 1700, inputTokens: 9, envelopes }
  const type = upstream.name === 'images' ? 'images' : 'responses'
  const target = {
    upstream,
    model: 'up',
    features: featuresOf(type, undefined),
    withoutCarriers: false,
    defaultMaxOutputTokens: 9,
    unsupported,
  }
  return hubLane(client, about, target, convert(client, request, target))
}

function answerOf(lane: ReturnType<typeof laneOf>, value: object, asStream = false) {
  const answer = lane.readAnswer(Buffer.from(JSON.stringify(value)), asStream)
  if (!('body' in answer)) throw new Error(`a failure: ${answer.detail}`)
  const { body, ...beside } = answer
  const events = asStream
    ? sseEvents(body).map(({ data }) => (data.startsWith('{') ? JSON.parse(data) : data))
    : []
  return { ...beside, body: asStream ? undefined : JSON.parse(body.toString()), events }
}

const chatBody = { messages: [{ role: 'user', content: 'A cat' }], stream: true }
const responsesBody = {
  input: 'A cat',
  tools: [{ type: 'image_generation', size: '1x2' }],
  tool_choice: { type: 'image_generation' },
}
const messagesBody = { max_tokens: 9, messages: [{ role: 'user', content: 'A cat' }] }

describe('a conversation with an images upstream', () => {
  it.each<[string, Dialect, object, object]>([
    ['chat', chat, chatBody, {}],
    ['responses', responses, responsesBody, { size: '1x2' }],
    ['messages', messages, messagesBody, {}],
  ])('%s: its last message is the prompt, without losses', (_, client, body, options) => {
    const lane = laneOf(client, images, body, 'Reject')
    expect(lane.path).toBe('/images/generations')
    expect(JSON.parse(lane.body.toString())).toEqual({ model: 'up', prompt: 'A cat', ...options })
    expect(lane.losses.names).toEqual([])
  })

  it('losses are reported or refused', () => {
    const body = { ...messagesBody, system: 'S', temperature: 1 }
    expect(laneOf(messages, images, body).losses.names).toEqual(['messages', 'temperature'])
    expect(() => laneOf(messages, images, body, 'Reject')).toThrow(GatewayError)
  })

  it('images are edited, with a form', () => {
    const content = [
      { type: 'text', text: 'A hat' },
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: PNG } },
    ]
    const lane = laneOf(messages, images, { max_tokens: 9, messages: [{ role: 'user', content }] })
    expect(lane.path).toBe('/images/edits')
    expect(lane.contentType).toMatch(/^multipart\/form-data; boundary=/)
    expect(lane.body.toString('latin1')).toContain('content-type: image/png\r\n\r\n\x89PNG')
  })

  it('chat gets it as Markdown', () => {
    const { body, ...beside } = answerOf(laneOf(chat, images, chatBody), ANSWER)
    expect(body).toMatchObject({ object: 'chat.completion', choices: [{ finish_reason: 'stop' }] })
    expect(body.choices[0].message).toEqual({ role: 'assistant', content: MARKDOWN, refusal: null })
    expect(beside).toMatchObject({ usage: BILLED, delivered: { deltas: 0, bytes: 0, images: 1 } })
    const { events } = answerOf(laneOf(chat, images, chatBody), ANSWER, true)
    const deltas = events.filter((event) => event.choices).map(({ choices }) => choices[0].delta)
    expect(deltas).toEqual([{ role: 'assistant', content: '', refusal: null }, { content: MARKDOWN }, {}])
  })

  it('responses gets it as its item', () => {
    const { body, usage } = answerOf(laneOf(responses, images, responsesBody), ANSWER)
    expect(body).toMatchObject({ status: 'completed', output: [ITEM] })
    expect(usage).toEqual(BILLED)
    const { events } = answerOf(laneOf(responses, images, responsesBody), ANSWER, true)
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { output: [ITEM] } })
  })

  it('messages gets it as Markdown', () => {
    const { body, usage } = answerOf(laneOf(messages, images, messagesBody), ANSWER)
    expect(body).toMatchObject({ content: [{ type: 'text', text: MARKDOWN }], stop_reason: 'end_turn' })
    expect(usage).toEqual(BILLED)
    const { events } = answerOf(laneOf(messages, images, messagesBody), ANSWER, true)
    expect(events.filter(({ type }) => type === 'content_block_delta')).toEqual([
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: MARKDOWN } },
    ])
  })

  it('images without tokens count as delivered', () => {
    const { usage, delivered } = answerOf(laneOf(chat, images, chatBody), {
      data: [{ url: 'u' }, { url: 'v' }],
    })
    expect(usage).toBeUndefined()
    expect(delivered).toEqual({ deltas: 0, bytes: 0, images: 2 })
  })

  it('an upstream that sends an unrequested stream', () => {
    const event = { type: 'image_generation.completed', b64_json: PNG, usage: ANSWER.usage }
    const answer = laneOf(chat, images, chatBody).readAnswer(
      Buffer.from(`data: ${JSON.stringify(event)}\n\n`),
      false,
    )
    expect(answer).toMatchObject({ usage: BILLED, delivered: { images: 1 } })
  })
})

describe('images with a responses upstream', () => {
  const fields = { prompt: 'A cat', size: '1x2' }
  const usage = { input_tokens: 50, output_tokens: 1000 }
  const response = (...output: object[]) => ({ id: 'r', status: 'completed', model: 'up', output, usage })

  it('are requested from its tool', () => {
    const lane = laneOf(images, responses, fields)
    expect(lane.path).toBe('/responses')
    expect(JSON.parse(lane.body.toString())).toEqual({
      model: 'up',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'A cat' }] }],
      tools: [{ type: 'image_generation', size: '1x2' }],
      tool_choice: { type: 'image_generation' },
      include: ['reasoning.encrypted_content'],
      store: false,
    })
    expect(lane.losses.names).toEqual([])
    expect(laneOf(images, responses, { ...fields, style: 'vivid' }).losses.names).toEqual(['style'])
  })

  it('are edited by it', () => {
    const url = `data:image/png;base64,${PNG}`
    const lane = laneOf(imageEdits, responses, { prompt: 'A hat', images: [{ image_url: url }] })
    expect(JSON.parse(lane.body.toString()).input[0].content).toEqual([
      { type: 'input_text', text: 'A hat' },
      { type: 'input_image', image_url: url, detail: 'auto' },
    ])
  })

  it('come back with their usage', () => {
    const { body, ...beside } = answerOf(
      laneOf(images, responses, fields),
      response({ ...ITEM, size: '1x2' }),
    )
    expect(body).toEqual({
      created: 1700,
      size: '1x2',
      output_format: 'png',
      data: [{ b64_json: PNG, revised_prompt: 'A fat cat' }],
      usage: {
        input_tokens: 50,
        input_tokens_details: { image_tokens: 0, text_tokens: 50 },
        output_tokens: 1000,
        total_tokens: 1050,
      },
    })
    expect(beside).toMatchObject({ usage: BILLED, delivered: { images: 1 } })
  })

  it('an answer of text is a failure', () => {
    const words = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Which?' }] }
    const failed = laneOf(images, responses, fields).readAnswer(
      Buffer.from(JSON.stringify(response(words))),
      false,
    )
    expect(failed).toMatchObject({ class: 'unknown', detail: 'no_picture' })
  })

  function stream(...events: object[]) {
    const observer = laneOf(imageEdits, responses, {
      prompt: 'A hat',
      images: [{ image_url: 'https://e.x/1' }],
      stream: true,
      partial_images: 1,
    }).observe(100_000)
    const bytes = Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
    const out = [observer.push(bytes), observer.flush()].map(String).join('')
    return { observer, events: sseEvents(Buffer.from(out)).map(({ data }) => JSON.parse(data)) }
  }
  const added = { type: 'response.output_item.added', output_index: 0, item: { ...ITEM, result: null } }
  const partial = {
    type: 'response.image_generation_call.partial_image',
    item_id: ITEM.id,
    output_index: 0,
    partial_image_index: 0,
    partial_image_b64: 'AAAA',
  }
  const completed = (...output: object[]) => ({ type: 'response.completed', response: response(...output) })

  it('stream, with previews', () => {
    const { observer, events } = stream(
      added,
      partial,
      { type: 'response.output_item.done', output_index: 0, item: ITEM },
      completed(ITEM),
    )
    expect(observer).toMatchObject({ finished: true, done: true, usage: BILLED, failure: undefined })
    expect(observer.delivered).toEqual({ deltas: 0, bytes: 0, images: 1 })
    expect(events).toMatchObject([
      { type: 'image_edit.partial_image', b64_json: 'AAAA', partial_image_index: 0 },
      { type: 'image_edit.completed', b64_json: PNG, usage: { total_tokens: 1050 } },
    ])
  })

  it('a stream of text is a failure', () => {
    const { observer, events } = stream(completed())
    expect(events).toEqual([])
    expect(observer).toMatchObject({ finished: false, failure: { detail: 'no_picture' } })
  })
})
