import { describe, expect, test, vi } from 'vitest'
import { paramOf } from './param.ts'
import { upstreamError } from './upstream-error.ts'

const ERROR = upstreamError({ error: { message: 'Bad.', param: 'size' } })

describe('the field of a request', () => {
  test.each(['{"size":1}', ' \t\r\n{"size":1}'])('is found in %j', (text) => {
    expect(paramOf(ERROR, Buffer.from(text))).toBe('size')
  })

  test.each(['', '  ', '["size"]', 'size=1'])('is not looked for in %j', (text) => {
    expect(paramOf(ERROR, Buffer.from(text))).toBeUndefined()
  })

  test('is not searched for in a form, which may be large', () => {
    const body = Buffer.from('--b\r\ncontent-disposition: form-data; name="size"\r\n\r\n{"size":1}\r\n--b--')
    const read = vi.spyOn(body, 'toString')
    expect(paramOf(ERROR, body)).toBeUndefined()
    expect(read).not.toHaveBeenCalled()
  })
})
