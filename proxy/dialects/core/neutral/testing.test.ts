import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyAnswer, anyRequest } from './testing.ts'

/** Every name and text, without the words of the format itself. */
function texts(value: unknown): string[] {
  if (typeof value === 'string') return /\d{3}/.test(value) ? [value] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(texts)
}

describe('generated conversations', () => {
  it('have unique texts, apart from ids and names that refer to one another', () => {
    fc.assert(
      fc.property(anyRequest, ({ turns }) => {
        const content = turns.map((turn) =>
          turn.role === 'tool' ? turn.results.map(({ parts }) => parts) : turn,
        )
        const all = texts(content)
        expect(new Set(all).size).toBe(all.length)
      }),
    )
  })

  it('answer every call directly, in order, and declare it', () => {
    fc.assert(
      fc.property(anyRequest, ({ turns, tools }) => {
        const declared = tools.map((tool) =>
          tool.type === 'function' || tool.type === 'custom' ? tool.name : '',
        )
        for (const [index, turn] of turns.entries()) {
          if (turn.role !== 'assistant') continue
          const calls = turn.parts.filter((part) => part.type === 'tool-call')
          if (calls.length === 0) continue
          const next = turns[index + 1]
          expect(next?.role === 'tool' && next.results.map(({ callId }) => callId)).toEqual(
            calls.map(({ callId }) => callId),
          )
          for (const { name } of calls) expect(declared).toContain(name)
        }
      }),
    )
  })

  it('reach every kind of part and turn', () => {
    const seen = new Set<string>()
    for (const { turns, toolChoice } of fc.sample(anyRequest, { numRuns: 300, seed: 1 })) {
      if (toolChoice !== undefined) seen.add(`choice ${toolChoice.type}`)
      seen.add(`ends in ${turns.at(-1)?.role}`)
      for (const turn of turns) {
        if (turn.role !== 'tool') for (const part of turn.parts) seen.add(`${turn.role} ${part.type}`)
      }
    }
    for (const { finish } of fc.sample(anyAnswer, { numRuns: 100, seed: 1 }))
      seen.add(`finish ${finish.reason}`)
    expect([...seen].sort()).toEqual([
      'assistant reasoning',
      'assistant text',
      'assistant tool-call',
      'choice auto',
      'choice none',
      'choice required',
      'choice tool',
      'ends in tool',
      'ends in user',
      'finish content-filter',
      'finish length',
      'finish stop',
      'finish tool-calls',
      'system text',
      'user file',
      'user image',
      'user text',
    ])
  })
})
