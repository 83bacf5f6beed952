import { describe, expect, test } from 'vitest'
import type { ChannelRecord, RouteRecord } from '../../contract/table/records.ts'
import type { Caller } from '../auth/authenticate.ts'
import { ENDPOINTS, type Endpoint } from '../dialects/index.ts'
import { RoutingTable } from '../table/routing.ts'
import { published, testChannel, testRoute, testTable } from '../table/testing.ts'
import { notEligible, planRoute } from './route.ts'

const target = (name: string, more: Partial<RouteRecord['targets'][number]> = {}) => ({
  channel: name,
  priority: 0,
  weight: 1,
  ...more,
})

const CHANNELS = {
  a: testChannel('a'),
  b: testChannel('b'),
  m: testChannel('m', 'messages'),
  e: testChannel('e', 'embeddings'),
  i: testChannel('i', 'images'),
}

const tableOf = (route: RouteRecord, channels: Record<string, ChannelRecord> = CHANNELS) =>
  new RoutingTable(published(testTable([route], channels, 'ns')))

function callerWith(account?: Partial<Caller['account']>): Caller {
  const key = {
    version: 1,
    id: 'k',
    namespace: 'ns',
    name: 'k',
    preview: '...',
    disabled: false,
    models: [],
    allowedIPs: [],
  } as const
  const payer = {
    version: 1,
    id: 'a',
    namespace: 'ns',
    name: 'a',
    disabled: false,
    enforced: true,
    overdraft: 0,
    ...account,
  } as const
  return { hash: 'h', key: { ...key, models: [], allowedIPs: [] }, account: account && payer }
}

function plan(model: string, route: Partial<RouteRecord>, account?: Partial<Caller['account']>) {
  const table = tableOf(testRoute(model, route))
  return (model: string) => planRoute(table, callerWith(account), model, ENDPOINTS.chat)
}

const models = (planned: ReturnType<typeof planRoute>) =>
  'none' in planned ? planned.none : planned.targets.map(({ key, model }) => [key, model])

describe('planRoute', () => {
  test('sends the requested model, unless the target names another', () => {
    const ask = plan('gpt', { targets: [target('a'), target('b', { model: 'other' })] })
    expect(models(ask('gpt'))).toEqual([
      ['ns/a', 'gpt'],
      ['ns/b', 'other'],
    ])
    expect(models(ask('gpt-2'))).toBe('no_route')
  })

  test('sends the rest of a wildcard, also in place of a star', () => {
    const ask = plan('acme/*', { targets: [target('a'), target('b', { model: 'x-*-y' })] })
    expect(models(ask('acme/$&'))).toEqual([
      ['ns/a', '$&'],
      ['ns/b', 'x-$&-y'],
    ])
  })

  test('finds the targets of a route once for each table and endpoint', () => {
    const route = testRoute('gpt', { targets: [target('a'), target('e')] })
    const table = tableOf(route)
    const targetsOf = (used: RoutingTable, endpoint: Endpoint, account?: Partial<Caller['account']>) => {
      const planned = planRoute(used, callerWith(account), 'gpt', endpoint)
      return 'none' in planned ? [] : planned.targets
    }
    const found = targetsOf(table, ENDPOINTS.chat)
    expect(found.map(({ key }) => key)).toEqual(['ns/a'])
    expect(targetsOf(table, ENDPOINTS.chat, { enforced: false })).toBe(found)
    expect(targetsOf(table, ENDPOINTS.embeddings).map(({ key }) => key)).toEqual(['ns/a', 'ns/e'])
    // The next table may hold the same route, and another record of its channel.
    const edited = { ...CHANNELS, a: { ...CHANNELS.a, baseURL: 'https://edited.test/v1' } }
    const [next] = targetsOf(tableOf(route, edited), ENDPOINTS.chat)
    expect(next?.channel.baseURL).toBe('https://edited.test/v1')
  })

  test('refuses a paying key although an earlier key was served without a price', () => {
    const table = tableOf(testRoute('gpt', { free: false, targets: [target('a')] }))
    const ask = (enforced: boolean) =>
      models(planRoute(table, callerWith({ enforced }), 'gpt', ENDPOINTS.chat))
    expect([ask(false), ask(true)]).toEqual([[['ns/a', 'gpt']], 'unpriced'])
  })

  test('skips channels that cannot serve the endpoint, unknown ones and those without weight', () => {
    const ask = plan('gpt', {
      targets: [target('e'), target('gone'), target('a', { weight: 0 }), target('b'), target('m')],
    })
    expect(models(ask('gpt'))).toEqual([
      ['ns/b', 'gpt'],
      ['ns/m', 'gpt'],
    ])
    expect(models(plan('gpt', { targets: [target('e'), target('a', { weight: 0 })] })('gpt'))).toBe(
      'no_eligible_channel',
    )
  })

  test('sends text to the other channels of a route with an images channel, if it has any', () => {
    const targets = [target('i'), target('a', { priority: 1 })]
    expect(models(plan('gpt', { targets })('gpt'))).toEqual([['ns/a', 'gpt']])
    expect(models(plan('gpt', { targets: [target('i')] })('gpt'))).toBe('no_eligible_channel')
    expect(models(plan('gpt', { targets: [target('i')], picturesOnly: true })('gpt'))).toEqual([
      ['ns/i', 'gpt'],
    ])
  })

  test('serves a route without a price only to keys that do not pay', () => {
    const unpriced = { free: false, targets: [target('a')] }
    expect(models(plan('gpt', unpriced, { enforced: true })('gpt'))).toBe('unpriced')
    expect(models(plan('gpt', unpriced, { enforced: false })('gpt'))).toEqual([['ns/a', 'gpt']])
    expect(models(plan('gpt', unpriced)('gpt'))).toEqual([['ns/a', 'gpt']])
  })
})

test('reports why a target cannot serve', () => {
  const route = { picturesOnly: false } as RouteRecord
  const reason = (type: 'chat_completion' | 'images', weight: number) =>
    notEligible(route, target('a', { weight }), testChannel('a', type), ENDPOINTS.chat)
  expect(reason('chat_completion', 1)).toBeUndefined()
  expect(reason('chat_completion', 0)).toBe('its weight is 0')
  expect(reason('images', 1)).toContain('the route has channels of other types')
})
