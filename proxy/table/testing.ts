/** Routes and tables for the tests of this folder and of those that use it. */
import { featuresOf } from '../../contract/profiles.ts'
import {
  type ChannelRecord,
  type PublishedTable,
  type RouteRecord,
  TABLE_VERSION,
  type TableRecord,
} from '../../contract/table/records.ts'

export function testRoute(model: string, changes: Partial<RouteRecord> = {}): RouteRecord {
  return {
    name: 'a-route',
    model,
    created: 1_700_000_000,
    targets: [{ channel: 'main', priority: 0, weight: 1 }],
    affinity: { mode: 'None', ttlMs: 3_600_000 },
    retry: { attempts: 3, on: [] },
    conversion: { unsupported: 'Drop' },
    rewriteModel: false,
    free: true,
    display: {},
    ...changes,
  }
}

export function testChannel(name: string, type: ChannelRecord['type'] = 'chat_completion'): ChannelRecord {
  return {
    name,
    type,
    baseURL: 'http://127.0.0.1:1/v1',
    auth: { scheme: 'None' },
    headers: {},
    query: {},
    profile: 'generic',
    features: featuresOf(type, 'generic'),
    timeoutsMs: { connect: 1, firstByte: 1, idle: 1, total: 1 },
    ejection: { consecutiveFailures: 5, intervalMs: 1, maxIntervalMs: 1 },
  }
}

export function testTable(
  routes: RouteRecord[],
  channels: Record<string, ChannelRecord> = {},
  namespace = 'default',
): TableRecord {
  return { version: TABLE_VERSION, namespaces: { [namespace]: { routes, channels } } }
}

export function published(
  table: TableRecord,
  { epoch, generation }: { epoch: number; generation: number } = { epoch: 1, generation: 1 },
): PublishedTable {
  return { epoch, generation, table }
}
