import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { elementsOf, objectOf, removal } from './pieces.ts'
import { scanObject } from './scanner.ts'
import { cut } from './splice.ts'

describe('the elements of a list', () => {
  test.each<[string, string[]]>([
    ['[]', []],
    ['[ \n]', []],
    ['[1.50]', ['1.50']],
    ['[ 12345678901234567890 , -0,true,null ]', ['12345678901234567890', '-0', 'true', 'null']],
    ['["a,b","]","\\"","\\\\", "é"]', ['"a,b"', '"]"', '"\\""', '"\\\\"', '"é"']],
    ['[{"b" : [1,{"c":"]"}]} ,\t[[],[2]],{}]', ['{"b" : [1,{"c":"]"}]}', '[[],[2]]', '{}']],
  ])('%s', (list, texts) => {
    expect(elementsOf(Buffer.from(list))).toEqual(texts)
  })

  test('of any list, compact or with white space', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 1, '\t', '\r\n '), (list, space) => {
        // JSON.stringify writes no -0.
        const values: unknown[] = JSON.parse(JSON.stringify(list))
        const texts = elementsOf(Buffer.from(JSON.stringify(values, null, space)))
        expect(texts.map((text): unknown => JSON.parse(text))).toEqual(values)
        if (space === undefined) expect(texts).toEqual(values.map((value) => JSON.stringify(value)))
      }),
    )
  })

  test('of megabytes take linear time', () => {
    const text = JSON.stringify('\\"'.repeat(2_000_000))
    expect(elementsOf(Buffer.from(`[${text}]`))).toEqual([text])
    expect(elementsOf(Buffer.from(`[${'{},'.repeat(300_000)}[]]`))).toHaveLength(300_001)
    const deep = `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`
    expect(elementsOf(Buffer.from(`[${deep}]`))).toEqual([deep])
  })
})

test('an object with some of the members keeps their order and bytes', () => {
  const bytes = Buffer.from('{ "b" : 1.0 , "a\\n":[ 2 ],"é":"x"}')
  const members = scanObject(bytes)
  expect(objectOf(bytes, members)).toBe('{"b":1.0,"a\\n":[ 2 ],"é":"x"}')
  expect(objectOf(bytes, members.slice(1, 2))).toBe('{"a\\n":[ 2 ]}')
  expect(objectOf(bytes, [])).toBe('{}')
})

describe('removing a member', () => {
  test.each([
    ['{"k":1}', '{}'],
    [' { "k" : {"a":1} } ', ' { } '],
    ['{"k":1,"a":2}', '{"a":2}'],
    ['{ "k":"," , "a":2}', '{ "a":2}'],
    ['{"a":2,"k":1}', '{"a":2}'],
    ['{"a":"}" , "k" : 1 }', '{"a":"}"  }'],
    ['{"a":{"k":0}, "k":[1], "b":3}', '{"a":{"k":0}, "b":3}'],
  ])('%s', (before, after) => {
    const bytes = Buffer.from(before)
    const taken = removal(bytes, scanObject(bytes), 'k')
    expect(taken && cut(bytes, [taken]).toString()).toBe(after)
  })

  test('that is absent changes nothing', () => {
    const bytes = Buffer.from('{"a":{"k":1}}')
    expect(removal(bytes, scanObject(bytes), 'k')).toBeUndefined()
  })
})
