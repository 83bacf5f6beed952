/** How Redis keeps the ledger: what it may evict, and what outlives a restart. */
import { z } from 'zod'
import { type Keeping, StoreUnavailable } from '../contract.ts'
import { type Primary, type RedisConnection, RedisError } from './connection.ts'

/**
 * Redis saves an hour after a change at the latest, unless it is configured otherwise. Heartbeats change it every second,
 * so that changes which wait for so long prove that nothing saves them.
 */
const LONGEST_WITHOUT_SAVE_S = 2 * 3_600

/** See Store.keeping. Rejects with StoreUnavailable if no server answers. */
export async function keepingOf(connection: RedisConnection): Promise<Map<string, Keeping | undefined>> {
  const primaries = await connection.primaries()
  const found = new Map<string, Keeping | undefined>()
  await Promise.all(
    primaries.map(async (primary) => found.set(primary.node, await unlessAway(keepingOfServer(primary)))),
  )
  if (![...found.values()].some((keeping) => keeping !== undefined))
    throw new StoreUnavailable('Redis does not answer')
  return found
}

async function keepingOfServer(primary: Primary): Promise<Keeping> {
  const info = await unlessRefused(infoOf(primary))
  if (info === undefined) return { evictionPolicy: undefined, persistence: 'unknown' }
  return {
    evictionPolicy: info.get('maxmemory_policy'),
    persistence: await persistenceOf(info, primary),
  }
}

async function persistenceOf(
  info: ReadonlyMap<string, string>,
  primary: Primary,
): Promise<Keeping['persistence']> {
  if (info.get('aof_enabled') === '1') return 'aof'
  if (info.get('aof_enabled') === undefined) return 'unknown'
  if (info.get('rdb_last_bgsave_status') === 'err') return 'none'
  const points = await unlessRefused(savePoints(primary))
  if (points !== undefined) return points === '' ? 'none' : 'rdb'
  return savesIn(info)
}

/** Without the save points, which a managed Redis keeps to itself: what its saves so far show. */
export function savesIn(info: ReadonlyMap<string, string>): 'rdb' | 'none' | 'unknown' {
  const number = (name: string) => Number(info.get(name))
  const sinceSave = number('server_time_usec') / 1e6 - number('rdb_last_save_time')
  const waits = number('rdb_changes_since_last_save') > 0 && info.get('rdb_bgsave_in_progress') === '0'
  if (waits && sinceSave > LONGEST_WITHOUT_SAVE_S) return 'none'
  return number('rdb_saves') > 0 ? 'rdb' : 'unknown'
}

/** INFO without the names of sections, which every version and every managed Redis knows. */
async function infoOf(primary: Primary): Promise<Map<string, string>> {
  const text = z.string().parse(await primary.command('INFO'))
  return new Map([...text.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name = '', value = '']) => [name, value]))
}

const configReply = z.tuple([z.literal('save'), z.string()])

/** Empty: it saves nothing by itself. */
async function savePoints(primary: Primary): Promise<string> {
  const [, points] = configReply.parse(await primary.command('CONFIG', 'GET', 'save'))
  return points.trim()
}

async function unlessAway<T>(reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined
    throw error
  }
}

/** Undefined if the user may not send the command, or the server does not know it. */
async function unlessRefused<T>(reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply
  } catch (error) {
    if (error instanceof RedisError || error instanceof z.ZodError) return undefined
    throw error
  }
}
