import { describe, expect, it } from 'vitest'
import { parseArguments, parseWithInputs } from './exact.ts'

const LONG = '{"id":12345678901234567890,"list":[-9007199254740993],"small":9007199254740991,"half":0.5}'

describe('parseArguments', () => {
  it('keeps integers beyond 2^53 as they were written', () => {
    expect(JSON.stringify(parseArguments(LONG))).toBe(LONG)
  })

  it('gives plain numbers if they keep all digits', () => {
    expect(parseArguments('{"a":9007199254740991}')).toEqual({ a: 9007199254740991 })
  })

  it('does not mistake digits in a string for a number', () => {
    expect(parseArguments('{"a":"x: 12345678901234567890"}')).toEqual({ a: 'x: 12345678901234567890' })
  })

  it('returns undefined for invalid JSON, and other values unchanged', () => {
    expect(parseArguments('{"a":')).toBeUndefined()
    expect(parseArguments('12345678901234567890')).toBe(Number('12345678901234567890'))
  })
})

describe('parseWithInputs', () => {
  it('keeps long integers only in the inputs of a request and an answer', () => {
    const block = `{"type":"tool_use","id":"a","name":"f","input":${LONG}}`
    const request = `{"max_tokens":12345678901234567890,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[${block}]}]}`
    const read = parseWithInputs(request, 'messages') as {
      max_tokens: unknown
      messages: { content: { input: unknown }[] }[]
    }
    expect(JSON.stringify(read.messages[1]?.content[0]?.input)).toBe(LONG)
    expect(read.max_tokens).toBe(Number('12345678901234567890'))
    const answer = parseWithInputs(`{"content":[${block}]}`) as { content: { input: unknown }[] }
    expect(JSON.stringify(answer.content[0]?.input)).toBe(LONG)
  })

  it('returns undefined for invalid JSON', () => {
    expect(parseWithInputs('{"a":')).toBeUndefined()
  })
})
