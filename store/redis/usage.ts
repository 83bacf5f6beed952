/** Reads the usage that the scripts count: see store/lua/ledger/usage.lua. */
import { z } from 'zod'
import { accountKeys } from '../keys.ts'
import type { Counted, TagRow, UsageRow, UsageSpan } from '../ledger/contract.ts'
import { PART_DAYS, packCounts, parseTag, unpackCounts } from '../ledger/usage.ts'
import type { RedisConnection } from './connection.ts'
import { pairs, stored } from './replies.ts'

/** Commands that are sent before their replies are awaited. */
const AT_ONCE = 100

/** Arguments of ledger/usage. */
export function countArgs(row: Counted): (string | number)[] {
  const { day = '', counts } = row
  if ('tag' in row) return [day, '', '', row.tag.name, row.tag.value, '', packCounts(counts)]
  const { key, keyName = '', model, channel, sub = '' } = row
  return [day, key, keyName, model, channel, sub, packCounts(counts)]
}

const hash = z.array(z.string()).transform((flat) => [...pairs(flat)])

/** A page has the rows of a few keys. */
export async function* readUsage(
  connection: RedisConnection,
  account: string,
  span: UsageSpan,
): AsyncGenerator<UsageRow[]> {
  const keys = accountKeys(account)
  for (const part of partsOf(span)) {
    const index = keys.use(part)
    const names =
      span.key === undefined
        ? hash.parse(await connection.command(['HGETALL', index]))
        : [[span.key, stored.parse(await connection.command(['HGET', index, span.key])) ?? ''] as const]
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const some = names.slice(at, at + AT_ONCE)
      const all = await Promise.all(
        some.map(async ([key, name]) => {
          const fields = hash.parse(await connection.command(['HGETALL', keys.useOf(part, key)]))
          return rowsOf(fields, { key, keyName: name || undefined }, span)
        }),
      )
      yield all.flat()
    }
  }
}

function rowsOf(
  fields: readonly [string, string][],
  of: Pick<UsageRow, 'key' | 'keyName'>,
  { from, to }: UsageSpan,
): UsageRow[] {
  const rows: UsageRow[] = []
  for (const [field, packed] of fields) {
    const [date, model = '', channel = '', sub = ''] = field.split('|')
    const day = Number(date)
    if (day < from || day > to) continue
    const { key, keyName } = of
    rows.push({ day, key, keyName, model, channel, sub, counts: unpackCounts(packed) })
  }
  return rows
}

export async function readTags(
  connection: RedisConnection,
  account: string,
  { from, to }: Omit<UsageSpan, 'key'>,
): Promise<TagRow[]> {
  const rows: TagRow[] = []
  for (const part of partsOf({ from, to }))
    for (const [field, packed] of hash.parse(
      await connection.command(['HGETALL', accountKeys(account).tag(part)]),
    )) {
      const tag = parseTag(field)
      if (tag.day >= from && tag.day <= to) rows.push({ ...tag, counts: unpackCounts(packed) })
    }
  return rows
}

function partsOf({ from, to }: Omit<UsageSpan, 'key'>): number[] {
  const first = Math.floor(from / PART_DAYS)
  return Array.from({ length: Math.max(0, Math.floor(to / PART_DAYS) - first + 1) }, (_, i) => first + i)
}
