import { expect, test } from 'vitest'
import { featuresOf } from '../../contract/profiles.ts'
import {
  type ChannelRecord,
  type PublishedTable,
  type RouteRecord,
  TABLE_VERSION,
} from '../../contract/table/records.ts'
import { RecordUnreadable } from '../contract.ts'
import { ephemeralKeyRing } from '../sealing.ts'
import { TableOpener } from './open-sealed.ts'
import { tableText } from './table-text.ts'

const NAME = 'the-table'
const ring = ephemeralKeyRing()
const open = (text: string) => new TableOpener(ring, NAME).open(text)

const route = (model: string): RouteRecord => ({
  name: model,
  model,
  created: 1_700_000_000,
  targets: [{ channel: 'main', priority: 0, weight: 1 }],
  affinity: { mode: 'None', ttlMs: 3_600_000 },
  retry: { attempts: 3, on: [] },
  conversion: { unsupported: 'Drop' },
  rewriteModel: false,
  free: true,
  display: {},
})

const channel = (name: string): ChannelRecord => ({
  name,
  type: 'messages',
  baseURL: 'http://127.0.0.1:1',
  auth: { scheme: 'XApiKey', secret: 'a-secret' },
  headers: { 'x-team': 'a' },
  query: {},
  profile: 'generic',
  features: featuresOf('messages', 'generic'),
  timeoutsMs: { connect: 1, firstByte: 1, idle: 1, total: 1 },
  ejection: { consecutiveFailures: 5, intervalMs: 1, maxIntervalMs: 1 },
})

function document(routes: number): PublishedTable {
  const namespace = (from: number) => ({
    routes: Array.from({ length: routes }, (_, n) => route(`model-${from + n}`)),
    channels: { main: channel('main'), other: channel('other') },
  })
  const namespaces = { default: namespace(0), team: namespace(routes) }
  return { epoch: 3, generation: 7, table: { version: TABLE_VERSION, namespaces } }
}

const sealed = (value: unknown) => ring.seal(NAME, JSON.stringify(value))

const inLines = (published: PublishedTable) => ring.seal(NAME, tableText(published))

test.each([
  ['in lines', inLines],
  ['as an older controller wrote it', sealed],
])('a table opens %s, with routes in order and channels of each namespace', async (_, seal) => {
  const published = document(120)
  expect(await open(seal(published))).toEqual(published)
  const empty = { ...published, table: { version: TABLE_VERSION, namespaces: {} } }
  expect(await open(seal(empty))).toEqual(empty)
})

test('a large table lets other work run while it opens', async () => {
  let turns = 0
  let opening = true
  const other = () => {
    turns++
    if (opening) setImmediate(other)
  }
  setImmediate(other)
  let ms = 0
  // A route takes an eighth of a millisecond.
  const opener = new TableOpener(ring, NAME, () => (ms += 0.125))
  await opener.open(inLines(document(500)))
  opening = false
  // Two namespaces of 125 steps each.
  expect(turns).toBeGreaterThanOrEqual(250)
})

test('what did not change since the last table is the same object, and the rest is read', async () => {
  const opener = new TableOpener(ring, NAME)
  const { default: before, team: teamBefore } = (await opener.open(inLines(document(3)))).table.namespaces
  const changed = document(3)
  const namespaces = changed.table.namespaces
  Object.assign(namespaces.default?.routes[1] ?? {}, { free: false })
  Object.assign(namespaces.team?.channels.other ?? {}, { baseURL: 'http://127.0.0.1:2' })
  const opened = await opener.open(inLines(changed))
  expect(opened).toEqual(changed)
  const { default: after, team } = opened.table.namespaces
  expect(after?.routes.map((one, index) => one === before?.routes[index])).toEqual([true, false, true])
  expect(team?.channels.other).not.toBe(teamBefore?.channels.other)
  expect(team?.channels.main).toBe(teamBefore?.channels.main)
  const again = (await opener.open(inLines(changed))).table.namespaces
  expect(again.default?.routes[0]).toBe(before?.routes[0])
  expect(again.default?.routes[1]).toBe(after?.routes[1])
})

test('a table that does not open leaves the next one what the last one had', async () => {
  const opener = new TableOpener(ring, NAME)
  const { default: before } = (await opener.open(inLines(document(1)))).table.namespaces
  await expect(opener.open(ring.seal(NAME, '{'))).rejects.toBeInstanceOf(RecordUnreadable)
  const { default: after } = (await opener.open(inLines(document(1)))).table.namespaces
  expect(after?.routes[0]).toBe(before?.routes[0])
})

/** A table whose last route of a namespace, or one of its channels, is changed. */
function broken(change: (team: { routes: object[]; channels: Record<string, object> }) => void): unknown {
  const { table, ...position } = document(120)
  const { default: kept, team } = structuredClone(table.namespaces)
  if (team === undefined) throw new Error('no namespace')
  change(team)
  return { ...position, table: { ...table, namespaces: { default: kept, team } } }
}

test.each([
  [
    'a route',
    broken(({ routes }) => {
      routes[119] = { ...route('x'), targets: [{ channel: 'main', priority: 'high', weight: 1 }] }
    }),
    'does not match the schema at table.namespaces.team.routes.119.targets.0.priority',
  ],
  [
    'a channel',
    broken(({ channels }) => {
      channels.other = { ...channel('other'), auth: { scheme: 'Bearer', secret: 5 } }
    }),
    'does not match the schema at table.namespaces.team.channels.other.auth.secret',
  ],
  [
    'a version of later',
    { ...document(1), table: { version: TABLE_VERSION + 1, namespaces: {} } },
    'does not match the schema at table.version',
  ],
  ['a text', 'x', 'does not match the schema at its root'],
])('%s that breaks the schema is named by its place', async (_, value, problem) => {
  await expect(open(sealed(value))).rejects.toEqual(new RecordUnreadable(`${NAME}: ${problem}`))
})

test('a table that is no JSON, and one under another name, do not open', async () => {
  const texts = ['{"epoch"', tableText(document(3)).replace('"display":{}}', '"display":{}')]
  for (const text of texts)
    await expect(open(ring.seal(NAME, text))).rejects.toEqual(new RecordUnreadable(`${NAME}: not JSON`))
  await expect(open(ring.seal('another', '{}'))).rejects.toBeInstanceOf(RecordUnreadable)
})
