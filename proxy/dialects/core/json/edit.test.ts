import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Change, cutsOf, type Path, spansAt } from './edit.ts'
import { cut } from './splice.ts'

const edited = (text: string, ...changes: Change[]) => {
  const body = Buffer.from(text)
  return cut(body, cutsOf(body, changes)).toString()
}

describe('changes', () => {
  it.each<[string, Change[], string]>([
    ['{ "a" : [ 1 , {"b":"x"} ] }', [{ path: ['a', 1, 'b'], to: '"y"' }], '{ "a" : [ 1 , {"b":"y"} ] }'],
    ['{"a":[ 1, 2 ,3]}', [{ path: ['a', 0] }], '{"a":[ 2 ,3]}'],
    ['{"a":[ 1, 2 ,3]}', [{ path: ['a', 1] }], '{"a":[ 1 ,3]}'],
    ['{"a":[ 1, 2 ,3 ]}', [{ path: ['a', 1] }, { path: ['a', 2] }], '{"a":[ 1 ]}'],
    ['{"a":[1,2,3,4]}', [{ path: ['a', 0] }, { path: ['a', 2] }], '{"a":[2,4]}'],
    ['{"a":[ 1, 2 ]}', [{ path: ['a', 0] }, { path: ['a', 1] }], '{"a":[  ]}'],
    ['{"a":1, "b":2,"c":3}', [{ path: ['b'] }], '{"a":1,"c":3}'],
    ['{"a":1, "b":2}', [{ path: ['a'] }], '{ "b":2}'],
    ['{"x":[{"a":"[\\"]","b":{}}]}', [{ path: ['x', 0, 'b'] }], '{"x":[{"a":"[\\"]"}]}'],
  ])('%s', (text, changes, expected) => {
    expect(edited(text, ...changes)).toBe(expected)
  })

  it('a path to no value changes nothing', () => {
    for (const path of [['b'], ['a', 7], ['a', 0, 'c']])
      expect(edited('{"a":[1]}', { path })).toBe('{"a":[1]}')
  })

  it('every occurrence of a repeated or escaped key is replaced', () => {
    expect(edited('{"a":1,"\\u0061":2,"b":3}', { path: ['a'], to: '0' })).toBe('{"a":0,"\\u0061":0,"b":3}')
  })

  /** Every path below a value. */
  function pathsIn(value: unknown, above: Path = []): Path[] {
    if (typeof value !== 'object' || value === null) return []
    const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
    const inner = value as Record<string | number, unknown>
    return keys.flatMap((key) => [[...above, key], ...pathsIn(inner[key], [...above, key])])
  }

  it('equal the same changes of the parsed value', () => {
    const spaced = fc.tuple(fc.object({ maxDepth: 4, withNullPrototype: false }), fc.constantFrom(0, 1, 2))
    fc.assert(
      fc.property(spaced, fc.nat(), fc.boolean(), ([value, space], pick, removes) => {
        const text = JSON.stringify(value, null, space)
        const paths = pathsIn(JSON.parse(text))
        const path = paths[pick % paths.length]
        if (path === undefined || path.includes('__proto__')) return
        const expected = JSON.parse(text)
        const parent = path.slice(0, -1).reduce((at, key) => at[key], expected)
        const last = path.at(-1) as string | number
        if (!removes) parent[last] = 'new'
        else if (Array.isArray(parent)) parent.splice(last as number, 1)
        else delete parent[last]
        expect(JSON.parse(edited(text, removes ? { path } : { path, to: '"new"' }))).toEqual(expected)
      }),
    )
  })
})

it('spans of a key are found only at its own level', () => {
  const body = Buffer.from('{"x":{"model":1},"model" : "a","r":{"model":"b"}}')
  const texts = (...keys: string[]) =>
    spansAt(body, keys).map(({ start, end }) => body.toString('utf8', start, end))
  expect(texts('model')).toEqual(['"a"'])
  expect(texts('r', 'model')).toEqual(['"b"'])
  expect(texts('none', 'model')).toEqual([])
})
