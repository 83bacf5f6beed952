import { expect, test } from 'vitest'
import { GatewayError } from './errors.ts'

test('an unexpected error reveals nothing and is kept as the cause', () => {
  const unexpected = new TypeError('SECRET is not a function')
  const error = GatewayError.from(unexpected)
  expect([error.code, error.status, error.cause]).toEqual(['internal_error', 500, unexpected])
  expect(error.message).not.toContain('SECRET')
})

test('a GatewayError stays unchanged', () => {
  const error = new GatewayError('invalid_request', 'No.', { status: 422, param: 'model' })
  expect(GatewayError.from(error)).toBe(error)
  expect([error.status, new GatewayError('invalid_request', 'No.').status]).toEqual([422, 400])
})
