import { describe, expect, test } from 'vitest'
import { createAffinity } from './affinity.ts'
import { sessionOf } from './session.ts'

describe('a session', () => {
  test('has the name that the client gives it, in the most specific header', () => {
    const headers = { 'session-id': 'codex', 'x-session-affinity': 'ours', 'x-openwebui-chat-id': 'chat' }
    expect(sessionOf(headers, 'key')).toBe('ours')
    expect(sessionOf({ 'thread-id': 'thread', 'session-id': 'codex' }, 'key')).toBe('codex')
  })

  test('is the prompt cache key if no header names it', () => {
    expect(sessionOf({}, 'key')).toBe('key')
    expect(sessionOf({ 'x-session-affinity': '' }, 'key')).toBe('key')
  })

  test.each([undefined, '', 'k'.repeat(1_025)])('has a name of some length (%#)', (name) => {
    expect(sessionOf(name === undefined ? {} : { 'x-session-affinity': name }, name)).toBeUndefined()
  })

  test('may have a long name', () => {
    expect(sessionOf({}, 'k'.repeat(1_024))).toHaveLength(1_024)
  })
})

describe('a noted session', () => {
  function kept() {
    const texts = new Map<string, string>()
    const affinity = createAffinity({
      get: async (name) => texts.get(name),
      set: async (name, channel) => void texts.set(name, channel),
    })
    return { texts, affinity }
  }

  test('is found by the same owner, kind and name alone', async () => {
    const { affinity } = kept()
    await affinity.note({ kind: 'session', owner: 'one', name: 'name' }, 'ns/c', 1_000)
    expect(await affinity.channel('session', 'one', 'name')).toBe('ns/c')
    expect(await affinity.channel('session', 'two', 'name')).toBeUndefined()
    expect(await affinity.channel('session', 'one', 'other')).toBeUndefined()
    expect(await affinity.channel('state', 'one', 'name')).toBeUndefined()
  })

  test('does not store its name', async () => {
    const { texts, affinity } = kept()
    await affinity.note(
      { kind: 'state', owner: 'one', name: 'what only one upstream can read' },
      'ns/c',
      1_000,
    )
    expect([...texts.keys()].join()).not.toContain('upstream')
  })

  test('is only a hint: while the store is away it is unknown', async () => {
    const away = async () => {
      throw new Error('away')
    }
    const affinity = createAffinity({ get: away, set: away })
    expect(await affinity.channel('session', 'one', 'name')).toBeUndefined()
    await affinity.note({ kind: 'session', owner: 'one', name: 'name' }, 'ns/c', 1_000)
  })
})
