import { expect, test } from 'vitest'
import type { ResponseBinding } from '../../../store/contract.ts'
import type { Current } from './suite.ts'

const BINDING: ResponseBinding = {
  channel: 'east',
  owner: 'aaaaaaaaaaaaaaaaaaaa',
  upstreamId: 'resp_up_1',
  native: false,
  contextTokens: 42,
  root: 'resp_0',
  parent: 'resp_0',
}

export function stateCases(current: Current): void {
  const affinity = () => current().store.affinity
  const state = () => current().store.state

  test('a session keeps its newest channel until its time is over', async () => {
    expect(await affinity().get('s1')).toBeUndefined()
    await affinity().set('s1', 'east', 10_000)
    await affinity().set('s2', 'west', 60_000)
    await affinity().set('s1', 'north', 10_000)
    expect([await affinity().get('s1'), await affinity().get('s2')]).toEqual(['north', 'west'])
    await current().advance(11_000)
    expect([await affinity().get('s1'), await affinity().get('s2')]).toEqual([undefined, 'west'])
  })

  test('setting a session again begins its time again', async () => {
    await affinity().set('s1', 'east', 10_000)
    await current().advance(8_000)
    await affinity().set('s1', 'east', 10_000)
    await current().advance(8_000)
    expect(await affinity().get('s1')).toBe('east')
  })

  test('a response binding is kept until its time is over', async () => {
    expect(await state().response('resp_1')).toBeUndefined()
    await state().putResponse('resp_1', BINDING, 10_000)
    expect(await state().response('resp_1')).toEqual(BINDING)
    await current().advance(11_000)
    expect(await state().response('resp_1')).toBeUndefined()
  })

  test('a response binding can be removed and is independent of what was given', async () => {
    const given = { ...BINDING }
    await state().putResponse('resp_1', given, 10_000)
    given.owner = 'someone else'
    expect(await state().response('resp_1')).toEqual(BINDING)
    await state().removeResponse('resp_1')
    await state().removeResponse('never')
    expect(await state().response('resp_1')).toBeUndefined()
  })

  test('the log answers with its newest lines first', async () => {
    expect(await state().recentLog(10)).toEqual([])
    for (const line of ['a', 'b', 'c']) await state().appendLog(line)
    expect(await state().recentLog(2)).toEqual(['c', 'b'])
    expect(await state().recentLog(10)).toEqual(['c', 'b', 'a'])
    expect(await state().recentLog(0)).toEqual([])
  })
}
