import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../../../../test/harness/cpu.ts'
import { type Json, Keeper, restore } from './keeper.ts'

/** What comes back of an object of which nothing is typed. */
const passed = (object: Json) => restore({}, new Keeper().take(object, []).ext('').ext)

describe('what is kept', () => {
  test('comes back inside the objects that it was taken from', () => {
    const keeper = new Keeper().take({ model: 'm', a: 1, b: null }, ['model'])
    keeper.takeInside('metadata', { user_id: 'u', x: 1, 'y.z': 2 }, ['user_id'])
    keeper.takeInside('output_config.format', { type: 't', more: { c: 1 } }, ['type'])
    const body = { model: 'm', metadata: { user_id: 'u' } }
    expect(restore(body, keeper.ext('').ext)).toEqual({
      model: 'm',
      a: 1,
      b: null,
      metadata: { user_id: 'u', x: 1, 'y.z': 2 },
      output_config: { format: { more: { c: 1 } } },
    })
    expect(body.metadata).toEqual({ user_id: 'u' })
  })

  test.each(['a.b', '.', 'messages.0.content', '.'.repeat(100_000)])(
    'comes back under its name: %.20s',
    (key) => {
      expect(passed({ [key]: 1 })).toEqual({ [key]: 1 })
    },
  )

  test('may be called as a part of any object is', () => {
    const object: Json = JSON.parse('{"__proto__":{"polluted":true},"constructor":1}')
    const restored = passed(object)
    expect(Object.entries(restored)).toEqual([
      ['__proto__', { polluted: true }],
      ['constructor', 1],
    ])
    expect('polluted' in {}).toBe(false)
  })

  test('may be much, in any object', () => {
    const fields = Object.fromEntries(Array.from({ length: 6_000 }, (_, index) => [`k${index}`, index]))
    const keeper = new Keeper().take({}, [])
    keeper.takeInside('metadata', fields, [])
    let restored: Json = {}
    const spent = cpuMs(() => {
      restored = restore({}, keeper.ext('').ext)
    })
    // Copied once for each field it would be many seconds, and minutes for as many as a body may have.
    expect(spent).toBeLessThan(2_000)
    expect(restored.metadata).toEqual(fields)
  })
})
