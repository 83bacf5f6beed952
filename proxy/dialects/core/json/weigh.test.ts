import { describe, expect, it } from 'vitest'
import { INPUT_FIELDS as CHAT } from '../../chat/input.ts'
import { INPUT_FIELDS as MESSAGES } from '../../messages/input.ts'
import { INPUT_FIELDS as RESPONSES } from '../../responses/input.ts'
import { parseJsonObject } from './body.ts'
import { decodedLength, type InputFields, weighInput } from './weigh.ts'

function weigh(body: object, fields: InputFields) {
  const limits = { maxDepth: 64, maxKeys: 1000 }
  return weighInput(parseJsonObject(Buffer.from(JSON.stringify(body)), limits, new Set()), fields)
}

/** Text that looks like a file of 300 bytes. */
const DISGUISED = `data:text/plain;base64,${'word'.repeat(100)}`

describe('text that starts like a file is weighed like any text', () => {
  it.each<[string, InputFields, object]>([
    ['chat, a string', CHAT, { messages: [{ role: 'user', content: DISGUISED }] }],
    ['chat, a part', CHAT, { messages: [{ role: 'user', content: [{ type: 'text', text: DISGUISED }] }] }],
    ['responses, all of the input', RESPONSES, { input: DISGUISED }],
    ['responses, instructions', RESPONSES, { instructions: DISGUISED }],
    [
      'responses, a result',
      RESPONSES,
      { input: [{ type: 'function_call_output', call_id: 'c', output: DISGUISED }] },
    ],
    ['messages, a string', MESSAGES, { messages: [{ role: 'user', content: DISGUISED }] }],
    [
      'messages, a text document',
      MESSAGES,
      {
        messages: [
          { role: 'user', content: [{ type: 'document', source: { type: 'text', data: DISGUISED } }] },
        ],
      },
    ],
  ])('%s', (_, fields, body) => {
    expect(weigh(body, fields)).toMatchObject({ textBytes: DISGUISED.length, fileBytes: 0 })
  })
})

it.each<[string, InputFields, object]>([
  [
    'a video of a chat request',
    CHAT,
    { messages: [{ role: 'user', content: [{ type: 'video_url', video_url: { url: DISGUISED } }] }] },
  ],
  [
    'a screenshot',
    RESPONSES,
    {
      input: [
        {
          type: 'computer_call_output',
          call_id: 'c',
          output: { type: 'computer_screenshot', image_url: DISGUISED },
        },
      ],
    },
  ],
])('%s is a file', (_, fields, body) => {
  expect(weigh(body, fields)).toMatchObject({ textBytes: 0, fileBytes: 300 })
})

it.each([
  ['AAAA', 3],
  ['AAA=', 2],
  ['AA==', 1],
  ['data:x;base64,AAAA', 3],
  [7, 0],
])('%j decodes to %d bytes', (data, bytes) => {
  expect(decodedLength(data)).toBe(bytes)
})
