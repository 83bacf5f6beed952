/** Reads the usage that the scripts count: see store/lua/ledger/usage.lua. */
import { z } from 'zod'
import { accountKeys } from '../keys.ts'
import type { Counted, TagRow, UsageRow, UsageSpan } from '../ledger/contract.ts'
import { PART_DAYS, packCounts, parseTag, unpackCounts } from '../ledger/usage.ts'
import type { RedisConnection } from './connection.ts'
import { pairs } from './replies.ts'

/** Commands that are sent before their replies are awaited. */
const AT_ONCE = 500

/** Arguments of ledger/usage. */
export function countArgs(row: Counted): (string | number)[] {
  const { day = '', counts } = row
  if ('tag' in row) return [day, '', '', row.tag.name, row.tag.value, '', packCounts(counts)]
  const { key, keyName = '', model, channel, sub = '' } = row
  return [day, key, keyName, model, channel, sub, packCounts(counts)]
}

const hash = z.array(z.string()).transform((flat) => [...pairs(flat)])

export async function readUsage(
  connection: RedisConnection,
  account: string,
  { from, to, key }: UsageSpan,
): Promise<UsageRow[]> {
  const keys = accountKeys(account)
  const read = async (name: string) => hash.parse(await connection.command(['HGETALL', name]))
  const rows: UsageRow[] = []
  for (const part of partsOf({ from, to })) {
    const names = (await read(keys.use(part))).filter(([id]) => key === undefined || id === key)
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const some = names.slice(at, at + AT_ONCE)
      const all = await Promise.all(some.map(([id]) => read(keys.useOf(part, id))))
      all.forEach((fields, i) => {
        const [id = '', name] = some[i] ?? []
        for (const [field, packed] of fields) {
          const [day, model = '', channel = '', sub = ''] = field.split('|')
          if (Number(day) < from || Number(day) > to) continue
          const counts = unpackCounts(packed)
          rows.push({ day: Number(day), key: id, keyName: name || undefined, model, channel, sub, counts })
        }
      })
    }
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
