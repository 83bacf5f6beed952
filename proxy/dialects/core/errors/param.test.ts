import { describe, expect, test } from 'vitest'
import { paramOf } from './param.ts'
import { requestOf } from './testing.ts'
import { upstreamError } from './upstream-error.ts'

const ERROR = upstreamError({ error: { message: 'Bad.', param: 'size' } })

describe('the field of a request', () => {
  test('is named if the body has it', () => {
    expect(paramOf(ERROR, requestOf({ size: 1 }))).toBe('size')
    expect(paramOf(ERROR, requestOf({ model: 'size' }))).toBeUndefined()
  })

  test('is not searched for in a form, which may be large', () => {
    const { value: _value, ...form } = requestOf({ size: 1 })
    expect(paramOf(ERROR, { ...form, contentType: 'multipart/form-data' })).toBeUndefined()
  })
})
