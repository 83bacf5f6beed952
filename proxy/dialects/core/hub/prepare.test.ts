import { expect, it } from 'vitest'
import { featuresOf } from '../../../../contract/profiles.ts'
import { GatewayError } from '../../../errors.ts'
import { DIALECTS } from '../../index.ts'
import { noLosses } from '../../testing.ts'
import type { DialectName, ModelRequest } from '../neutral/types.ts'
import { prepare, readingOf } from './prepare.ts'

function prepared(stops: number, dialect: DialectName) {
  const request: ModelRequest = {
    model: 'm',
    stream: true,
    turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
    tools: [],
    stop: Array.from({ length: stops }, (_, i) => `stop ${i}`),
  }
  const features = featuresOf('responses', undefined)
  return prepare(
    request,
    { upstream: DIALECTS[dialect], features, withoutCarriers: false },
    noLosses('messages'),
  )
}

it('stop sequences are removed for an upstream without them, and found by the gateway', () => {
  const { request, answer } = prepared(64, 'responses')
  expect(request.stop).toBeUndefined()
  expect(readingOf(answer, DIALECTS.responses).filters).toHaveLength(1)
  expect(prepared(65, 'chat').request.stop).toHaveLength(65)
})

it('too many of them are refused', () => {
  expect(() => prepared(65, 'responses')).toThrow(GatewayError)
  expect(() => prepared(65, 'responses')).toThrow(
    'stop_sequences must have at most 64 entries for this model.',
  )
})
