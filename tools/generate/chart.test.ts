/** The page of the chart's values, made from small files. */
import { expect, it } from 'vitest'
import { chartPage } from './chart.ts'

const schema = (properties: object) =>
  JSON.stringify({ $defs: { name: { type: 'string' } }, properties: { logLevel: LOG_LEVEL, ...properties } })
const LOG_LEVEL = { description: 'Lines | of the log.', enum: ['info', 'warn'] }
const REDIS = {
  description: 'A database.',
  properties: {
    size: { description: 'Its size.', type: ['integer', 'null'] },
    tls: { properties: { secret: { description: 'Its files.', $ref: '#/$defs/name' } } },
  },
}

it('has a row for each value, under the heading of its group', () => {
  const page = chartPage(
    schema({ redis: REDIS }),
    'redis: { tls: { secret: files }, size: null }\nlogLevel: info',
  )
  expect(page.split('\n').filter((line) => /^(##|\| `|[A-Z]\w+ \w+\.$)/.test(line))).toEqual([
    '## General',
    '| `logLevel` | `info`, `warn` | `"info"` | Lines \\| of the log. |',
    '## redis',
    '| `redis.tls.secret` | string | `"files"` | Its files. |',
    '| `redis.size` | integer or null | `null` | Its size. |',
  ])
  expect(page).toContain('\nA database.\n')
})

it.each([
  [
    'a value without a schema',
    { redis: REDIS },
    'redis: { size: 1, tls: { secret: a, key: b } }',
    'no redis.tls.key',
  ],
  [
    'a schema without a value',
    { redis: REDIS },
    'redis: { size: 1, tls: {} }',
    'values.yaml has no redis.tls.secret',
  ],
  ['no description', { size: { type: 'integer' } }, 'size: 1', 'does not describe size'],
  ['no type', { size: { description: 'A size.' } }, 'size: 1', 'no type for "A size."'],
])('refuses %s', (_, properties, values, message) => {
  expect(() => chartPage(schema(properties), `logLevel: info\n${values}`)).toThrow(message)
})
