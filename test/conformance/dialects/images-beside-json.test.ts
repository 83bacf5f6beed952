/** A client that requested JSON gets JSON, even if the model made an image before it. */
import { describe, expect, it } from 'vitest'
import { type DialectName, laneOf, minimalRequest } from './codecs.ts'
import { readStrictly } from './strict.ts'

const PNG = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1').toString('base64')
const IMAGE_URL = `data:image/png;base64,${PNG}`
const JSON_TEXT = '{"animal":"cat"}'
const SCHEMA = { type: 'object', properties: { animal: { type: 'string' } }, required: ['animal'] }

const REQUESTS = {
  chat: { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA } } },
  messages: { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
}
const ITEMS = [
  { id: 'ig_1', type: 'image_generation_call', status: 'completed', result: PNG },
  {
    id: 'msg_1',
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: JSON_TEXT, annotations: [], logprobs: [] }],
  },
]
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'up',
  status: 'completed',
  output: ITEMS,
  usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
}
const CHAT = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'up',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: JSON_TEXT,
        images: [{ type: 'image_url', image_url: { url: 'https://images.example/cat.png' } }],
      },
      finish_reason: 'stop',
    },
  ],
}

/** The client's answer as JSON and as a stream, and the names of its losses. */
function read(client: DialectName, upstream: DialectName, more: object, answer: object) {
  return [false, true].map((stream) => {
    const lane = laneOf(client, minimalRequest(client, { ...more, stream }), upstream)
    const whole = lane.readAnswer(Buffer.from(JSON.stringify(answer)), stream)
    if (!('body' in whole)) throw new Error(whole.detail)
    const text = whole.body.toString()
    return { text, losses: lane.losses.names, answer: stream ? undefined : JSON.parse(text) }
  })
}

describe('chat', () => {
  it('has the image beside the content', () => {
    const [whole, streamed] = read('chat', 'responses', REQUESTS.chat, RESPONSE)
    const { message } = whole?.answer.choices[0] ?? {}
    expect(message).toMatchObject({
      content: JSON_TEXT,
      images: [{ type: 'image_url', image_url: { url: IMAGE_URL } }],
    })
    expect(streamed?.text).toContain(`"images":[{"type":"image_url","image_url":{"url":"${IMAGE_URL}"}}]`)
    expect(streamed?.text).not.toContain('![image]')
    expect([whole?.losses, streamed?.losses]).toEqual([[], []])
  })

  it('has the image in the text if the client did not request JSON', () => {
    const [whole] = read('chat', 'responses', {}, RESPONSE)
    expect(whole?.answer.choices[0].message.content).toBe(`![image](${IMAGE_URL})${JSON_TEXT}`)
  })
})

it('messages has no place for the image, which is a loss', () => {
  const [whole, streamed] = read('messages', 'responses', REQUESTS.messages, RESPONSE)
  expect(whole?.answer.content).toEqual([expect.objectContaining({ type: 'text', text: JSON_TEXT })])
  expect(readStrictly('messages', streamed?.text ?? '')).toMatchObject({ content: [{ text: JSON_TEXT }] })
  expect([whole?.losses.length, streamed?.losses.length]).toEqual([1, 1])
})

it('responses has no item for an image URL, which is a loss', () => {
  const format = { text: { format: { type: 'json_schema', name: 'a', schema: SCHEMA } } }
  const [whole, streamed] = read('responses', 'chat', format, CHAT)
  expect(whole?.answer.output).toMatchObject([{ type: 'message', content: [{ text: JSON_TEXT }] }])
  expect(readStrictly('responses', streamed?.text ?? '')).toMatchObject({
    output: [{ content: [{ text: JSON_TEXT }] }],
  })
  expect(whole?.losses).not.toEqual([])
})
