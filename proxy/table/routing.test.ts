import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TABLE_VERSION } from '../../contract/table/records.ts'
import { modelAllowed, RoutingTable } from './routing.ts'
import { published, testChannel, testRoute, testTable } from './testing.ts'

const channel = testChannel('main')

function tableOf(...models: string[]): RoutingTable {
  return new RoutingTable(published(testTable(models.map((model) => testRoute(model)))))
}

/** The route that serves a model, and the upstream model. */
function served(table: RoutingTable, model: string, namespace = 'default') {
  const match = table.match(namespace, model)
  return match && [match.route.model, match.upstreamModel]
}

describe('match', () => {
  test.each([
    ['an exact name', ['gpt-5', 'gpt-4'], 'gpt-4', ['gpt-4', 'gpt-4']],
    ['an exact name before a wildcard', ['gpt-*', '*', 'gpt-4'], 'gpt-4', ['gpt-4', 'gpt-4']],
    ['a wildcard, whose rest is the upstream model', ['azure/*'], 'azure/gpt-4', ['azure/*', 'gpt-4']],
    ['a rest with slashes and stars', ['a/*'], 'a/b/c*', ['a/*', 'b/c*']],
    ['the longest wildcard', ['*', 'gpt-4*', 'gpt-*', 'gpt-4o-*'], 'gpt-4o-mini', ['gpt-4o-*', 'mini']],
    ['a shorter wildcard where the longer ends', ['gpt-*', 'gpt-4o-*'], 'gpt-4o', ['gpt-*', '4o']],
    ['a lone star', ['*', 'gpt-*'], 'claude', ['*', 'claude']],
    ['never an empty rest', ['gpt-*'], 'gpt-', undefined],
    ['an empty rest by a shorter wildcard', ['gpt-*', 'gp*'], 'gpt-', ['gp*', 't-']],
    ['never another case', ['gpt-4', 'gpt-*'], 'GPT-4', undefined],
    ['never a part of a name', ['gpt-4'], 'gpt-4o', undefined],
    ['never an empty model', ['*'], '', undefined],
    ['nothing in an empty table', [], 'gpt-4', undefined],
  ])('%s', (_, models, model, expected) => {
    expect(served(tableOf(...models), model)).toEqual(expected)
    expect(served(tableOf(...models.toReversed()), model)).toEqual(expected)
  })

  test('the winner is the exact name, else the longest prefix that leaves a rest', () => {
    const name = fc.stringMatching(/^[ab]{0,4}$/)
    const models = fc.uniqueArray(
      fc.oneof(
        name.filter((n) => n !== ''),
        name.map((n) => `${n}*`),
      ),
    )
    fc.assert(
      fc.property(models, name, (known, model) => {
        const match = tableOf(...known).match('default', model)
        if (known.includes(model)) {
          expect(match).toMatchObject({ route: { model }, upstreamModel: model })
          return
        }
        let longest = -1
        for (let length = 0; length < model.length; length++)
          if (known.includes(`${model.slice(0, length)}*`)) longest = length
        expect(match?.route.model).toBe(longest < 0 ? undefined : `${model.slice(0, longest)}*`)
        expect(match?.upstreamModel).toBe(longest < 0 ? undefined : model.slice(longest))
      }),
    )
  })

  test('only routes of the namespace match', () => {
    expect(served(tableOf('gpt-4', '*'), 'gpt-4', 'other')).toBeUndefined()
  })
})

describe('names that every object inherits', () => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '']
  const table = new RoutingTable(published(testTable([testRoute('gpt-4')], { main: channel })))

  test.each(names)('%j is not a model, channel or namespace', (name) => {
    expect(served(table, name)).toBeUndefined()
    expect(served(table, 'gpt-4', name)).toBeUndefined()
    expect(table.channel('default', name)).toBeUndefined()
    expect(table.channel(name, 'main')).toBeUndefined()
    expect([...table.models(name)]).toEqual([])
  })

  test('a route may still have such a name', () => {
    expect(served(tableOf('constructor'), 'constructor')).toEqual(['constructor', 'constructor'])
    expect(served(tableOf('__proto__*'), '__proto__x')).toEqual(['__proto__*', 'x'])
  })
})

test('a table lists exact models in its order and channels by namespace and name', () => {
  const table = new RoutingTable(
    published({
      version: TABLE_VERSION,
      namespaces: {
        a: { routes: ['z', 'w-*', 'b'].map((model) => testRoute(model)), channels: { main: channel } },
        b: { routes: [testRoute('c')], channels: { main: { ...channel, name: 'second' } } },
      },
    }),
  )
  expect([...table.models('a')].map((route) => route.model)).toEqual(['z', 'b'])
  expect([...table.channels()].map(([key, { name }]) => [key, name])).toEqual([
    ['a/main', 'main'],
    ['b/main', 'second'],
  ])
  expect(table.channel('b', 'main')?.name).toBe('second')
})

test('a table has the position of its publication; before the first one it is empty', () => {
  const table = new RoutingTable(published(testTable([]), { epoch: 3, generation: 8 }))
  expect([table.epoch, table.generation]).toEqual([3, 8])
  const empty = new RoutingTable()
  expect([empty.epoch, empty.generation, [...empty.channels()]]).toEqual([0, 0, []])
  expect(served(empty, 'gpt-4')).toBeUndefined()
})

describe('models of a key', () => {
  test.each([
    [[], 'gpt-4', true],
    [['*'], 'gpt-4', true],
    [['gpt-4'], 'gpt-4', true],
    [['claude', 'gpt-*'], 'gpt-4', true],
    [['gpt-4'], 'gpt-4o', false],
    [['gpt-?'], 'gpt-4', false],
    [['GPT-4'], 'gpt-4', false],
    [[''], 'gpt-4', false],
  ])('%j and %s: %s', (globs, model, allowed) => {
    expect(modelAllowed(globs, model)).toBe(allowed)
  })
})
