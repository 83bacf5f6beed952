import { expect, test } from 'vitest'
import { GatewayError } from '../../errors.ts'
import { embeddings } from './index.ts'

const ERROR = new GatewayError('invalid_request', 'input must not be empty.', { param: 'input' })
const BODY = {
  error: {
    message: 'input must not be empty.',
    type: 'invalid_request_error',
    param: 'input',
    code: 'invalid_request',
  },
}

test('errors have the format of the OpenAI family', () => {
  expect(embeddings.errorBody(ERROR, 'r')).toEqual(BODY)
  expect(embeddings.errorEvent(ERROR, 'r').toString()).toBe(`data: ${JSON.stringify(BODY)}\n\n`)
})

test('has no codec, no streams and no extra headers', () => {
  const body = Buffer.from('{"model":"m","input":"a"}')
  const headers = { 'openai-organization': 'o', 'anthropic-version': 'v' }
  const request = embeddings.parseRequest(body, { maxDepth: 9, maxKeys: 9 }, headers)
  expect(embeddings.codec).toBeUndefined()
  expect(embeddings.byteLane.upstreamHeaders(request)).toEqual({})
  expect(() => embeddings.byteLane.observe(request, 1000, false)).toThrow(/never streamed/)
})
