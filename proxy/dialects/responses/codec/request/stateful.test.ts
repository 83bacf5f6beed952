import { expect, test } from 'vitest'
import { parseRequest } from '../../request.ts'
import { decodeRequest } from './decode-request.ts'
import { refuseStateful } from './stateful.ts'

const USER = { role: 'user', content: 'Hi' }

function refuse(fields: object): void {
  const body = Buffer.from(JSON.stringify({ model: 'm', input: [USER], ...fields }))
  const request = parseRequest(body, { maxDepth: 64, maxKeys: 1000 })
  refuseStateful(decodeRequest(request, { seal: () => '', open: () => 'foreign' }))
}

test.each([
  ['previous_response_id', 'previous_response_not_found', { previous_response_id: 'resp_1' }],
  ['conversation', 'unsupported_parameter', { conversation: 'conv_1' }],
  ['prompt', 'unsupported_parameter', { prompt: { id: 'p' } }],
  ['input[1]', 'unsupported_parameter', { input: [USER, { type: 'compaction', encrypted_content: 'x' }] }],
  ['input[1]', 'unsupported_parameter', { input: [USER, { type: 'item_reference', id: 'msg_1' }] }],
  ['input[1]', 'unsupported_parameter', { input: [USER, { id: 'msg_1' }] }],
])('%s is refused elsewhere: %s', (param, code, fields) => {
  expect(() => refuse(fields)).toThrow(expect.objectContaining({ code, param, status: 400 }))
})

test('anything else is not', () => {
  const call = { type: 'web_search_call', id: 'ws', status: 'completed' }
  expect(() => refuse({ previous_response_id: null, input: [call, USER] })).not.toThrow()
})
