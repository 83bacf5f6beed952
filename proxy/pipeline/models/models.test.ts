import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RouteRecord } from '../../../contract/table/records.ts'
import type { Caller } from '../../auth/authenticate.ts'
import { testAccount, testKey } from '../../auth/testing.ts'
import { testPrice } from '../../ledger/testing.ts'
import { RoutingTable } from '../../table/routing.ts'
import { published, testChannel, testRoute, testTable } from '../../table/testing.ts'
import { findModel, listModels, type PageQuery, pageQuery } from './models.ts'

const anybody: Caller = { hash: 'h', key: testKey(), account: undefined }
const payer: Caller = { hash: 'h', key: testKey(), account: testAccount() }
const unlimited: Caller = { hash: 'h', key: testKey(), account: testAccount({ enforced: false }) }
const PRICE = testPrice({ input: '1', output: '1' })

function tableOf(routes: RouteRecord[], namespace = 'default'): RoutingTable {
  const channels = { main: testChannel('main'), talk: testChannel('talk', 'embeddings') }
  return new RoutingTable(published(testTable(routes, channels, namespace)))
}

function tableOfModels(...models: string[]): RoutingTable {
  return tableOf(models.map((model) => testRoute(model)))
}

function ids(table: RoutingTable, caller = anybody, page?: PageQuery): string[] {
  return listModels(table, caller, page).data.map(({ id }) => id)
}

describe('shape', () => {
  const described = testRoute('gpt-4', {
    created: 1_767_225_600,
    contextLength: 128_000,
    maxOutputTokens: 4_096,
    display: { name: 'GPT 4', description: 'An old one.', owner: 'us' },
  })

  test('has the fields of both API families', () => {
    const full = {
      id: 'gpt-4',
      object: 'model',
      type: 'model',
      created: 1_767_225_600,
      created_at: '2026-01-01T00:00:00.000Z',
      owned_by: 'us',
      display_name: 'GPT 4',
      description: 'An old one.',
      max_input_tokens: 128_000,
      max_tokens: 4_096,
    }
    const plain = {
      id: 'plain',
      object: 'model',
      type: 'model',
      created: 0,
      created_at: '1970-01-01T00:00:00.000Z',
      owned_by: 'sluice',
      display_name: 'plain',
    }
    const table = tableOf([described, testRoute('plain', { created: 0 })])
    // As JSON, as clients see it.
    expect(JSON.parse(JSON.stringify(listModels(table, anybody, undefined)))).toStrictEqual({
      object: 'list',
      data: [full, plain],
      has_more: false,
      first_id: 'gpt-4',
      last_id: 'plain',
    })
    expect(JSON.parse(JSON.stringify(findModel(table, anybody, 'gpt-4')))).toStrictEqual(full)
  })

  test('an empty list', () => {
    expect(listModels(new RoutingTable(), anybody, undefined)).toStrictEqual({
      object: 'list',
      data: [],
      has_more: false,
      first_id: null,
      last_id: null,
    })
  })
})

describe('wildcards', () => {
  const table = tableOf([
    testRoute('azure/*', { contextLength: 8_000 }),
    testRoute('azure/gpt-4', { created: 7 }),
    testRoute('named/*', { display: { name: 'Many' } }),
  ])

  test('are not in the list', () => {
    expect(ids(table)).toEqual(['azure/gpt-4'])
  })

  test('show the models that they list, if they serve them and the key may use them', () => {
    const listing = tableOf([
      testRoute('azure/*', {
        listed: ['azure/gpt-4', 'azure/o3', 'azure/eu/o3', 'azure/o3'],
        contextLength: 8_000,
      }),
      testRoute('azure/gpt-4', { created: 7 }),
      testRoute('azure/eu/*'),
      testRoute('other/*', { listed: ['other/x'], free: false }),
    ])
    // An exact route serves one, and a longer wildcard, which does not list it, serves another.
    expect(ids(listing, payer)).toEqual(['azure/gpt-4', 'azure/o3'])
    expect(ids(listing, unlimited)).toEqual(['azure/gpt-4', 'azure/o3', 'other/x'])
    const key = testKey({ models: ['azure/o*'] })
    expect(ids(listing, { ...anybody, key })).toEqual(['azure/o3'])
    expect(listModels(listing, payer, undefined).data[0]).toMatchObject({ id: 'azure/gpt-4', created: 7 })
    expect(listModels(listing, payer, { afterId: 'azure/gpt-4' }).data).toEqual([
      expect.objectContaining({ id: 'azure/o3', display_name: 'azure/o3', max_input_tokens: 8_000 }),
    ])
    expect(findModel(listing, payer, 'azure/o3').id).toBe('azure/o3')
  })

  test('serve a model under the requested name', () => {
    expect(findModel(table, anybody, 'azure/o3')).toMatchObject({
      id: 'azure/o3',
      display_name: 'azure/o3',
      max_input_tokens: 8_000,
    })
    expect(findModel(table, anybody, 'azure/gpt-4').created).toBe(7)
    expect(findModel(table, anybody, 'named/x')).toMatchObject({ id: 'named/x', display_name: 'Many' })
  })

  test('need a rest', () => {
    expect(() => findModel(table, anybody, 'azure/')).toThrow()
  })
})

describe('a key sees', () => {
  test('its models, in the order of the table', () => {
    const table = tableOfModels('b', 'a-1', 'c', 'a-2')
    const caller = { ...anybody, key: testKey({ models: ['a-*', 'b'] }) }
    expect(ids(table, caller)).toEqual(['b', 'a-1', 'a-2'])
    expect(ids(table)).toEqual(['b', 'a-1', 'c', 'a-2'])
  })

  test('models that reach a channel', () => {
    const weight = { targets: [{ channel: 'main', priority: 0, weight: 0 }] }
    const table = tableOf([
      testRoute('a'),
      testRoute('b', weight),
      testRoute('c', { targets: [{ channel: 'talk', priority: 0, weight: 1 }] }),
      testRoute('d', { targets: [] }),
    ])
    expect(listModels(table, anybody, undefined).data.map(({ id }) => id)).toEqual(['a', 'c'])
    expect(() => findModel(table, anybody, 'b')).toThrow(expect.objectContaining({ code: 'not_found' }))
  })

  test('its namespace', () => {
    const table = tableOf([testRoute('a')], 'other')
    expect(ids(table)).toEqual([])
    expect(ids(table, { ...anybody, key: testKey({ namespace: 'other' }) })).toEqual(['a'])
  })

  test('routes with a price, when its account must pay', () => {
    const table = tableOf([
      testRoute('free'),
      testRoute('priced', { free: false, price: PRICE }),
      testRoute('unpriced', { free: false }),
      testRoute('any-*', { free: false }),
    ])
    expect(ids(table, payer)).toEqual(['free', 'priced'])
    expect(ids(table, unlimited)).toEqual(['free', 'priced', 'unpriced'])
    expect(ids(table, anybody)).toEqual(['free', 'priced', 'unpriced'])
    expect(() => findModel(table, payer, 'unpriced')).toThrow()
    expect(() => findModel(table, payer, 'any-1')).toThrow()
    expect(findModel(table, unlimited, 'any-1').id).toBe('any-1')
  })

  test('the same answer for an unknown model and a forbidden one', () => {
    const table = tableOf([testRoute('there'), testRoute('unpriced', { free: false })])
    const caller = { ...payer, key: testKey({ models: ['absent', 'unpriced'] }) }
    const errors = ['absent', 'there', 'unpriced', '__proto__', 'constructor', ''].map((model) => {
      try {
        return findModel(table, caller, model)
      } catch (error) {
        return error
      }
    })
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'not_found', status: 404, param: 'model' })
      expect(error).toHaveProperty('message', expect.not.stringContaining('there'))
    }
    expect(new Set(errors.map(String)).size).toBe(1)
  })
})

describe('paging', () => {
  const table = tableOfModels('a', 'b', 'c', 'd', 'e')

  test.each([
    [{ limit: 2 }, ['a', 'b'], true],
    [{ limit: 5 }, ['a', 'b', 'c', 'd', 'e'], false],
    [{ limit: 1_000 }, ['a', 'b', 'c', 'd', 'e'], false],
    [{ limit: 2, afterId: 'b' }, ['c', 'd'], true],
    [{ limit: 2, afterId: 'c' }, ['d', 'e'], false],
    [{ limit: 2, afterId: 'e' }, [], false],
    [{ afterId: 'a' }, ['b', 'c', 'd', 'e'], false],
    [{ limit: 2, beforeId: 'd' }, ['b', 'c'], true],
    [{ limit: 3, beforeId: 'd' }, ['a', 'b', 'c'], false],
    [{ limit: 2, beforeId: 'b' }, ['a'], false],
    [{ limit: 2, beforeId: 'a' }, [], false],
    [{ beforeId: 'c' }, ['a', 'b'], false],
  ] satisfies [PageQuery, string[], boolean][])('%j', (page, expected, hasMore) => {
    const list = listModels(table, anybody, page)
    expect(list.data.map(({ id }) => id)).toEqual(expected)
    expect([list.has_more, list.first_id, list.last_id]).toEqual([
      hasMore,
      expected.at(0) ?? null,
      expected.at(-1) ?? null,
    ])
  })

  test('a page has 20 models if only a cursor is given; without any parameter the list is complete', () => {
    const many = tableOfModels(...Array.from({ length: 50 }, (_, i) => `m${i}`))
    expect(ids(many, anybody, { afterId: 'm0' })).toHaveLength(20)
    expect(ids(many, anybody, { beforeId: 'm49' })).toHaveLength(20)
    expect(ids(many)).toHaveLength(50)
  })

  test.each([{ afterId: 'x' }, { beforeId: 'x' }])('a cursor that names no model: %j', (page) => {
    const param = 'afterId' in page ? 'after_id' : 'before_id'
    expect(() => listModels(table, anybody, page)).toThrow(
      expect.objectContaining({ code: 'invalid_request', status: 400, param }),
    )
  })

  test('a cursor that the key cannot see reveals nothing', () => {
    const caller = { ...anybody, key: testKey({ models: ['a', 'c'] }) }
    const error = (afterId: string) => {
      try {
        return listModels(table, caller, { afterId })
      } catch (caught) {
        return String(caught)
      }
    }
    expect(error('b')).toBe(error('x'))
  })

  test('following the cursors in either direction shows every model once', () => {
    fc.assert(
      fc.property(fc.nat(30), fc.integer({ min: 1, max: 12 }), (count, limit) => {
        const all = Array.from({ length: count }, (_, i) => `m${i}`)
        const many = tableOfModels(...all)
        const forward: string[] = []
        for (let page = listModels(many, anybody, { limit }); ; ) {
          forward.push(...page.data.map(({ id }) => id))
          if (!page.has_more) break
          expect(page.data).toHaveLength(limit)
          page = listModels(many, anybody, { limit, afterId: page.last_id ?? undefined })
        }
        expect(forward).toEqual(all)
        const backward: string[] = all.slice(-1)
        while (backward[0] !== undefined) {
          const page = listModels(many, anybody, { limit, beforeId: backward[0] })
          backward.unshift(...page.data.map(({ id }) => id))
          if (!page.has_more) break
        }
        expect(backward).toEqual(all)
      }),
    )
  })
})

describe('query', () => {
  test.each([
    ['', undefined],
    ['beta=true', undefined],
    ['limit=1', { limit: 1 }],
    ['limit=1000', { limit: 1_000 }],
    ['after_id=a%2Fb', { limit: 20, afterId: 'a/b' }],
    ['before_id=a&limit=3', { limit: 3, beforeId: 'a' }],
  ])('%j', (query, page) => {
    expect(pageQuery(new URLSearchParams(query))).toEqual(page)
  })

  test.each(['0', '1001', '-1', '1.5', '', 'ten', '1e2', '0x10', ' 5', '99999999999'])(
    'limit %j is 400',
    (limit) => {
      expect(() => pageQuery(new URLSearchParams({ limit }))).toThrow(
        expect.objectContaining({ code: 'invalid_request', status: 400, param: 'limit' }),
      )
    },
  )
})
