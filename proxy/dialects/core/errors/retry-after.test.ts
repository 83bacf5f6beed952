import { describe, expect, test } from 'vitest'
import { refused, requestOf } from './testing.ts'

const fail = (status: number, body: unknown, headers: Record<string, string | string[]>) =>
  refused(status, body, requestOf({}), headers)

describe('Retry-After', () => {
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString()

  test.each<[Record<string, string | string[]>, number | undefined]>([
    [{}, undefined],
    [{ 'retry-after': '7' }, 7],
    [{ 'retry-after': ['7', '9'] }, 7],
    [{ 'retry-after': '0' }, 1],
    [{ 'retry-after': '1.2' }, 2],
    [{ 'retry-after': '3600' }, 60],
    [{ 'retry-after': '-5' }, 1],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '' }, undefined],
    [{ 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, 1],
    [{ 'retry-after': inSeconds(7200) }, 60],
    [{ 'retry-after-ms': '1500', 'retry-after': '30' }, 2],
    [{ 'retry-after-ms': 'x', 'retry-after': '30' }, 30],
  ])('%j', (headers, expected) => {
    expect(fail(429, {}, headers).retryAfterSeconds).toBe(expected)
  })

  test('an HTTP date counts from now', () => {
    const seconds = fail(503, '', { 'retry-after': inSeconds(20) }).retryAfterSeconds
    expect(seconds).toBeGreaterThan(10)
    expect(seconds).toBeLessThanOrEqual(20)
  })
})
