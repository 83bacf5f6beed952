import { describe, expect, test } from 'vitest'
import type { Features } from '../../../../../contract/features.ts'
import type { Turn } from '../../../core/neutral/types.ts'
import { encode, user } from './encode-testing.ts'

describe('cache marks', () => {
  const marked = (ttl?: '5m' | '30m' | '12h') =>
    user({ type: 'text', text: 'x', cache: ttl === undefined ? {} : { ttl } })
  const controls = (turns: Turn[], features: Partial<Features> = {}) => {
    const { body, losses } = encode({ turns }, features)
    const [message] = Array.isArray(body.messages) ? body.messages : []
    return { marks: message.content.map((b: { cache_control?: unknown }) => b.cache_control), losses }
  }

  test('get the nearest lifetime', () => {
    expect(controls([marked(), marked('30m'), marked('12h')])).toEqual({
      marks: [{ type: 'ephemeral' }, { type: 'ephemeral', ttl: '5m' }, { type: 'ephemeral', ttl: '1h' }],
      losses: ['messages.content.prompt_cache_breakpoint.ttl'],
    })
  })

  test('are at most four, the last ones', () => {
    const { marks, losses } = controls([marked(), marked(), marked(), marked(), marked()])
    expect(marks).toEqual([undefined, ...Array(4).fill({ type: 'ephemeral' })])
    expect(losses).toEqual(['messages.content.prompt_cache_breakpoint'])
    expect(controls([marked(), marked(), marked(), marked()]).losses).toEqual([])
  })

  test('are dropped for upstreams without cache marks', () => {
    expect(controls([marked()], { cacheMarks: false })).toEqual({
      marks: [undefined],
      losses: ['messages.content.prompt_cache_breakpoint'],
    })
  })
})
