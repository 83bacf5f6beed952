import { describe, expect, it } from 'vitest'
import { parseArguments, withLongInputs } from './exact.ts'

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

describe('withLongInputs', () => {
  const block = `{"type":"tool_use","id":"a","name":"f","input":${LONG}}`
  const read = (text: string, turns?: string) => withLongInputs(JSON.parse(text), () => text, turns)

  it('keeps long integers in the inputs of a request, and nowhere else', () => {
    const text = `{"max_tokens":12345678901234567890,"messages":[{"role":"user","content":"x"},7,{"role":"assistant","content":[${block}]}]}`
    const request = read(text, 'messages') as {
      max_tokens: unknown
      messages: { content: { input: unknown }[] }[]
    }
    expect(JSON.stringify(request.messages[2]?.content[0]?.input)).toBe(LONG)
    expect(request).toMatchObject({
      max_tokens: Number('12345678901234567890'),
      messages: [{ content: 'x' }, 7, {}],
    })
  })

  it('keeps them in the inputs of an answer', () => {
    const answer = read(`{"content":["x",${block}]}`) as { content: { input: unknown }[] }
    expect(JSON.stringify(answer.content[1]?.input)).toBe(LONG)
  })

  it('changes neither the given value nor one without long integers', () => {
    const given = JSON.parse(`{"content":[${block}]}`)
    const before = structuredClone(given)
    withLongInputs(given, () => `{"content":[${block}]}`)
    expect(given).toEqual(before)
    const plain = { content: [{ input: { id: 7, text: '12345678901234567890' } }] }
    expect(withLongInputs(plain, () => expect.fail('the text was read'))).toBe(plain)
  })

  it('keeps the digits of a number too large for JavaScript', () => {
    const digits = '9'.repeat(400)
    expect(JSON.stringify(read(`{"content":[{"input":{"n":${digits}}}]}`))).toContain(digits)
  })

  it('reads inputs of any depth', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    expect(read(`{"content":[{"input":{"deep":${deep}}}]}`)).toHaveProperty('content')
  })
})
