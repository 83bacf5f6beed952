import { describe, expect, it } from 'vitest'
import { addExtLosses, Losses } from './losses.ts'
import type { ModelRequest } from './types.ts'

function header(...names: string[]): string | undefined {
  const losses = new Losses({})
  for (const name of names) losses.add(name)
  return losses.header()
}

describe('the header', () => {
  it('has each name once, in the order of the losses', () => {
    expect(header()).toBeUndefined()
    expect(header('seed', 'messages.name', 'seed')).toBe('seed, messages.name')
  })

  it('escapes characters that could end it or look like another name', () => {
    expect(header('a\r\nset-cookie: x', 'b, c', 'ü')).toBe('a__set-cookie:_x, b__c, _')
  })

  it('ends within a KiB, after a whole name', () => {
    const names = Array.from({ length: 500 }, (_, i) => `field_${i}`)
    const text = header(...names) ?? ''
    expect(text.length).toBeLessThanOrEqual(1024)
    expect(text.length).toBeGreaterThan(1000)
    const listed = text.split(', ')
    expect(listed.pop()).toBe('...')
    expect(listed).toEqual(names.slice(0, listed.length))
  })

  it('has no name if the first one is longer', () => {
    expect(header('x'.repeat(2_000), 'seed')).toBe('...')
    expect(header('seed', 'x'.repeat(2_000))).toBe('seed, ...')
  })
})

it('fields of other dialects are lost in any position, those of the target are not', () => {
  const ext = (dialect: 'chat' | 'messages', at: string, ...fields: string[]) => ({
    dialect,
    at,
    fields: Object.fromEntries(fields.map((field) => [field, 1])),
  })
  const request: ModelRequest = {
    model: 'm',
    stream: false,
    turns: [
      {
        role: 'user',
        parts: [{ type: 'text', text: 'Hi', ext: ext('chat', 'messages.content', 'mood') }],
        ext: ext('messages', 'messages', 'own'),
      },
    ],
    tools: [{ type: 'function', name: 'f', parameters: { ext: ext('chat', 'schema', 'inside') } }],
    ext: ext('chat', '', 'logit_bias'),
  }
  const losses = new Losses({})
  addExtLosses(request, 'messages', losses)
  expect(losses.names.toSorted()).toEqual(['logit_bias', 'messages.content.mood'])
})
