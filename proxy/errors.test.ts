import { expect, test } from 'vitest'
import { GatewayError } from './errors.ts'

test('an unexpected error shows nothing of itself and is kept as the cause', () => {
  const unexpected = new TypeError('SECRET is not a function')
  const told = GatewayError.from(unexpected)
  expect([told.code, told.status, told.cause]).toEqual(['internal_error', 500, unexpected])
  expect(told.message).not.toContain('SECRET')
})

test('an error of the gateway stays what it is', () => {
  const error = new GatewayError('invalid_request', 'No.', { status: 422, param: 'model' })
  expect(GatewayError.from(error)).toBe(error)
  expect([error.status, new GatewayError('invalid_request', 'No.').status]).toEqual([422, 400])
})
