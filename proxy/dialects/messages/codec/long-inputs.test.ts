import { describe, expect, it } from 'vitest'
import { parseAnswer, withLongInputs } from './long-inputs.ts'

const LONG = '{"id":12345678901234567890,"list":[-9007199254740993],"small":9007199254740991,"half":0.5}'

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

describe('the JSON of an answer', () => {
  it('keeps long integers in inputs', () => {
    const answer = parseAnswer(`{"content":[{"input":${LONG}}]}`) as { content: { input: unknown }[] }
    expect(JSON.stringify(answer.content[0]?.input)).toBe(LONG)
  })

  it('may be no object, or no JSON', () => {
    expect(parseAnswer('[1]')).toEqual([1])
    expect(parseAnswer('{"content":')).toBeUndefined()
  })
})
