import { expect, test } from 'vitest'
import type { ResponseBinding } from '../../../store/contract.ts'
import type { Current } from './under-test.ts'

const BINDING: ResponseBinding = {
  channel: 'east',
  upstreamId: 'resp_up_1',
  native: false,
  contextTokens: 42,
  root: 'resp_0',
  parent: 'resp_0',
}

const OWNER = 'aaaaaaaaaaaaaaaaaaaa'
const OTHER = 'bbbbbbbbbbbbbbbbbbbb'

export function stateCases(current: Current): void {
  const affinity = () => current().store.affinity
  const state = () => current().store.state

  test('a session keeps its newest channel until it expires', async () => {
    expect(await affinity().get('s1')).toBeUndefined()
    await affinity().set('s1', 'east', 10_000)
    await affinity().set('s2', 'west', 60_000)
    await affinity().set('s1', 'north', 10_000)
    expect([await affinity().get('s1'), await affinity().get('s2')]).toEqual(['north', 'west'])
    await current().advance(11_000)
    expect([await affinity().get('s1'), await affinity().get('s2')]).toEqual([undefined, 'west'])
  })

  test('setting a session again renews it', async () => {
    await affinity().set('s1', 'east', 10_000)
    await current().advance(8_000)
    await affinity().set('s1', 'east', 10_000)
    await current().advance(8_000)
    expect(await affinity().get('s1')).toBe('east')
  })

  test('a response binding is kept until it expires', async () => {
    expect(await state().response(OWNER, 'resp_1')).toBeUndefined()
    await state().putResponse(OWNER, 'resp_1', BINDING, 10_000)
    expect(await state().response(OWNER, 'resp_1')).toEqual(BINDING)
    await current().advance(11_000)
    expect(await state().response(OWNER, 'resp_1')).toBeUndefined()
  })

  test('a response binding can be removed and is independent of the object that was passed in', async () => {
    const given = { ...BINDING }
    await state().putResponse(OWNER, 'resp_1', given, 10_000)
    given.channel = 'another'
    expect(await state().response(OWNER, 'resp_1')).toEqual(BINDING)
    await state().removeResponse(OWNER, 'resp_1')
    await state().removeResponse(OWNER, 'never')
    expect(await state().response(OWNER, 'resp_1')).toBeUndefined()
  })

  test('owners with responses of the same id cannot read, replace or remove those of others', async () => {
    await state().putResponse(OWNER, 'resp_1', BINDING, 10_000)
    expect(await state().response(OTHER, 'resp_1')).toBeUndefined()
    const others = { ...BINDING, channel: 'west' }
    await state().putResponse(OTHER, 'resp_1', others, 10_000)
    expect(await state().response(OWNER, 'resp_1')).toEqual(BINDING)
    expect(await state().response(OTHER, 'resp_1')).toEqual(others)
    await state().keepResponse(OTHER, 'resp_1', 60_000)
    await current().advance(11_000)
    expect(await state().response(OWNER, 'resp_1')).toBeUndefined()
    await state().putResponse(OWNER, 'resp_1', BINDING, 10_000)
    await state().removeResponse(OTHER, 'resp_1')
    expect(await state().response(OTHER, 'resp_1')).toBeUndefined()
    expect(await state().response(OWNER, 'resp_1')).toEqual(BINDING)
  })

  test('owners and ids that are equal when concatenated stay distinct', async () => {
    await state().putResponse('a', 'b:c', BINDING, 10_000)
    await state().putResponse('a', 'b","c', BINDING, 10_000)
    for (const [owner, id] of [
      ['a:b', 'c'],
      ['ab', ':c'],
      ['a","b', 'c'],
    ] as const)
      expect(await state().response(owner, id)).toBeUndefined()
  })

  test('keeping a binding extends its lifetime and never shortens it', async () => {
    await state().putResponse(OWNER, 'resp_1', BINDING, 10_000)
    await state().keepResponse(OWNER, 'resp_1', 60_000)
    await state().keepResponse(OWNER, 'resp_1', 1_000)
    await current().advance(59_000)
    expect(await state().response(OWNER, 'resp_1')).toEqual(BINDING)
    await current().advance(2_000)
    expect(await state().response(OWNER, 'resp_1')).toBeUndefined()
  })

  test('keeping an expired binding does not restore it', async () => {
    await state().keepResponse(OWNER, 'never', 60_000)
    await state().putResponse(OWNER, 'ended', BINDING, 10_000)
    await state().putResponse(OWNER, 'removed', BINDING, 10_000)
    await state().removeResponse(OWNER, 'removed')
    await current().advance(11_000)
    for (const id of ['never', 'ended', 'removed']) {
      await state().keepResponse(OWNER, id, 60_000)
      expect(await state().response(OWNER, id)).toBeUndefined()
    }
  })

  test('the log returns its newest lines first', async () => {
    expect(await state().recentLog(10)).toEqual([])
    for (const line of ['a', 'b', 'c']) await state().appendLog(line)
    expect(await state().recentLog(2)).toEqual(['c', 'b'])
    expect(await state().recentLog(10)).toEqual(['c', 'b', 'a'])
    expect(await state().recentLog(0)).toEqual([])
  })
}
