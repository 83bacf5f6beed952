import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { echoOf } from '../codec/answer/answer-echo.ts'
import { parseRequest } from '../request.ts'
import { createChains } from './index.ts'

const LIMITS = { maxDepth: 64, maxKeys: 1000 }
const chains = createChains(parseRequest)
const parse = (text: string) => parseRequest(Buffer.from(text), LIMITS)
const expanded = (text: string, history: string[], limits = LIMITS) =>
  chains.expand(parse(text), history, limits)

const FIRST = '{"type":"message","role":"user","content":"One"}'
const SAID = '{"type":"message","role":"assistant","content":"1.0"}'
const NEXT = '{"type":"message","role":"user","content":"Two"}'

describe('expanding', () => {
  test.each([
    [
      'in the middle, with the spaces around it',
      `{ "a" : 1.50 ,"previous_response_id":"r", "model" : "m" , "input":[${NEXT}] }`,
      `{ "a" : 1.50 , "model" : "m" , "input":[${FIRST},${SAID},${NEXT}] }`,
    ],
    [
      'at the beginning',
      `{"previous_response_id":"r","input":"Two","model":"m"}`,
      `{"input":[${FIRST},${SAID},${NEXT}],"model":"m"}`,
    ],
    [
      'at the end',
      `{"input":[{"role":"user","content":"Two"}],"model":"m","previous_response_id":"r"}`,
      `{"input":[${FIRST},${SAID},${NEXT}],"model":"m"}`,
    ],
    [
      'right after the input',
      `{"model":"m","input":[],"previous_response_id":"r"}`,
      `{"model":"m","input":[${FIRST},${SAID}]}`,
    ],
    [
      'right before it',
      `{"model":"m","previous_response_id":"r","input":null}`,
      `{"model":"m","input":[${FIRST},${SAID}]}`,
    ],
    ['without input', `{"model":"m","previous_response_id":"r"}`, `{"model":"m","input":[${FIRST},${SAID}]}`],
    [
      'without input, first',
      `{"previous_response_id":"r","model":"m", "x":{"input":1} }`,
      `{"model":"m", "x":{"input":1},"input":[${FIRST},${SAID}] }`,
    ],
  ])('a reference %s', (_name, text, body) => {
    expect(expanded(text, [FIRST, SAID]).body.toString()).toBe(body)
  })

  test('weighs the whole conversation', () => {
    const text = '{"model":"m","stream":true,"previous_response_id":"r","input":"Two"}'
    const { head } = expanded(text, [FIRST, SAID])
    expect(head).toMatchObject({ model: 'm', stream: true, input: { textBytes: 3 + 3 + 3 } })
  })

  test('a conversation beyond the limits is refused like one in a single request', () => {
    const text = '{"model":"m","previous_response_id":"r","input":"Two"}'
    const keys = `{"type":"x",${Array.from({ length: 1000 }, (_, i) => `"k${i}":0`).join(',')}}`
    const deep = `{"type":"x","deep":${'['.repeat(64)}${']'.repeat(64)}}`
    for (const item of [keys, deep]) {
      const whole = `{"model":"m","input":[${item},${NEXT}]}`
      const refusal = refusalOf(() => parse(whole))
      expect(refusal).toMatchObject({ code: 'invalid_request', status: 400 })
      expect(refusalOf(() => expanded(text, [item]))).toEqual(refusal)
    }
    expect(() => expanded(text, [keys], { maxDepth: 64, maxKeys: 2000 })).not.toThrow()
  })

  test('a conversation without an item is refused', () => {
    const refusal = refusalOf(() => expanded('{"model":"m","previous_response_id":"r"}', []))
    expect(refusal).toMatchObject({ code: 'invalid_request', param: 'input' })
  })

  test('does not change the request', () => {
    const text = `{"model":"m","previous_response_id":"r","input":[${NEXT}]}`
    const request = parse(text)
    chains.expand(request, [FIRST], LIMITS)
    expect(request.body.toString()).toBe(text)
  })
})

function refusalOf(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

test('answers repeat what the client sent', () => {
  const request = parse('{"model":"m","previous_response_id":"r","input":"Two","temperature":0.5}')
  const made = chains.expand(request, [FIRST], LIMITS)
  expect(echoOf(made)).toMatchObject({ previous_response_id: 'r', temperature: 0.5 })
})

describe('any conversation', () => {
  /** JSON that JavaScript would change: long numbers, zeros, repeated keys, escapes. */
  const odd = fc.constantFrom('12345678901234567890', '1.0', '-0', '1E2', '"\\u0041"', '{"k":1,"k":2}', '[ ]')
  const item = fc
    .tuple(
      fc.constantFrom('message', 'function_call', 'reasoning', 'x_call'),
      fc.string({ unit: 'binary' }),
      odd,
    )
    .map(
      ([type, text, value]) =>
        `{"type":"${type}","summary":[0],"text":${JSON.stringify(text)},"odd":${value}}`,
    )
  const exchange = fc.record({
    before: fc.subarray(['"a":1.0', ' "b" : "input" ', '"metadata":{"previous_response_id":"no"}']),
    input: fc.array(item, { maxLength: 3 }),
    output: fc.array(item, { maxLength: 3 }),
    referenceFirst: fc.boolean(),
    streamed: fc.boolean(),
  })
  type Exchange = typeof exchange extends fc.Arbitrary<infer T> ? T : never

  function requestText({ before, input, referenceFirst }: Exchange, chained: boolean, body = input): string {
    const fields = [...before, `"input":[${body.join(',')}]`, ' "model":"m"']
    const reference = chained ? ['"previous_response_id":"r"'] : []
    return `{${(referenceFirst ? [...reference, ...fields] : [...fields, ...reference]).join(',')}}`
  }

  test('has the same bytes however it is split', () => {
    fc.assert(
      fc.property(fc.array(exchange, { maxLength: 5 }), exchange, item, (exchanges, last, first) => {
        const history = [first]
        for (const each of exchanges) {
          history.push(...chains.input(parse(requestText(each, true))))
          history.push(...(answerTo(each)?.items ?? []))
        }
        const all = [first, ...exchanges.flatMap(({ input, output }) => [...input, ...output]), ...last.input]
        expect(expanded(requestText(last, true), history).body.toString()).toBe(requestText(last, false, all))
      }),
    )
  })

  function answerTo({ output, streamed }: Exchange) {
    const tap = chains.tap(parse('{"model":"m","input":"Hi"}'))
    const response = `{"id":"r","object":"response","status":"completed","output":[${output.join(',')}]}`
    if (streamed) tap.push(Buffer.from(`data: {"type":"response.completed","response":${response}}\n\n`))
    else tap.whole(Buffer.from(response))
    return tap.record()
  }
})

describe('references', () => {
  const id = 'A'.repeat(24)
  const response = `{"id":"resp_${id}","output":[{"id":"msg_${id}00","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"1.0"}]},{"id":"fc_${id}01","type":"function_call","call_id":"c","name":"n","arguments":"{\\"n\\":1.0}"}]}`

  test('name their response if the gateway made the ids', () => {
    expect(chains.responseOf(`fc_${id}01`)).toBe(`resp_${id}`)
    for (const other of ['fc_68af4030baa48193b0b43b4c2a176a1a0e6967589f080e78', 'msg_1', `fc_${id}`, ''])
      expect(chains.responseOf(other)).toBeUndefined()
  })

  test('are replaced by their items, and all other bytes stay', () => {
    const input = `{"model":"m","temperature":1.0,"input":[{"role":"user","content":"Hi"},{"type":"item_reference","id":"msg_${id}00"},{"id":"fc_${id}01"},{"type":"item_reference","id":"msg_other"},{"type":"function_call_output","call_id":"c","output":"ok"}]}`
    const { body } = chains.resolve(parse(input), chains.itemsOf(response), LIMITS)
    expect(body.toString()).toBe(
      '{"model":"m","temperature":1.0,"input":[{"type":"message","role":"user","content":"Hi"},' +
        '{"type":"message","role":"assistant","content":[{"type":"output_text","text":"1.0"}]},' +
        '{"type":"function_call","call_id":"c","name":"n","arguments":"{\\"n\\":1.0}"},' +
        '{"type":"item_reference","id":"msg_other"},{"type":"function_call_output","call_id":"c","output":"ok"}]}',
    )
  })
})
