/**
 * Usage: who used what on which day (UTC). The leader counts each entry of the ledger once, so that costs add up to those of the
 * ledger, and the commands that hold and settle pay nothing for it.
 */
import type { Counted, LedgerEntry, UsageCounts, UsageRow, UsageSpan } from './contract.ts'
import { timeOf } from './entry-log.ts'

export const DAY_MS = 86_400_000
/** Usage is kept in parts of so many days. */
export const PART_DAYS = 32
/** Days with so many tags count others together, under an empty value. */
export const MOST_TAGS_A_PART = 10_000

/** The letters that stand for counts where usage is stored. */
const LETTERS = {
  requests: 'r',
  errors: 'e',
  cost: 'c',
  upstreamCost: 'u',
  input: 'i',
  cachedInput: 'k',
  cacheWrite: 'w',
  cacheWriteLong: 'l',
  output: 'o',
  reasoning: 't',
  images: 'p',
  audioInput: 'a',
  imageInput: 'v',
  audioOutput: 's',
  webSearch: 'x',
  fileSearch: 'f',
  codeInterpreter: 'y',
} as const satisfies Record<keyof UsageCounts, string>
type Name = keyof typeof LETTERS
const NAMES = Object.keys(LETTERS) as Name[]
const BY_LETTER = new Map<string, Name>(NAMES.map((name) => [LETTERS[name], name]))

/** What an entry of a request adds. A late one corrects the cost alone: its expiry has counted the request. */
export function countsOf({ kind, delta, note }: LedgerEntry): UsageCounts {
  const cost = 0 - delta
  if (kind === 'late' || note === undefined) return { cost }
  const { reason, tokens, upstreamCost = 0 } = note
  const counts: UsageCounts = { ...tokens, requests: 1, cost, upstreamCost }
  if (reason === 'unserved') counts.errors = 1
  return counts
}

/** "r1 c20 i5". Counts that are zero are left out. */
export function packCounts(counts: UsageCounts): string {
  return NAMES.flatMap((name) => (counts[name] ? [`${LETTERS[name]}${counts[name]}`] : [])).join(' ')
}

/** Letters of later versions are ignored. */
export function unpackCounts(packed: string): UsageCounts {
  const counts: UsageCounts = {}
  for (let at = 0; at < packed.length; ) {
    const end = packed.indexOf(' ', at)
    const next = end < 0 ? packed.length : end
    const name = BY_LETTER.get(packed.charAt(at))
    if (name !== undefined) counts[name] = Number(packed.slice(at + 1, next))
    at = next + 1
  }
  return counts
}

export function addCounts(into: UsageCounts, more: UsageCounts): void {
  for (const name in more) {
    const count = more[name as Name]
    if (count) into[name as Name] = (into[name as Name] ?? 0) + count
  }
}

export interface UsageBook {
  /** By "day|key|model|channel|sub". */
  readonly usage: Map<string, UsageCounts>
  /** By "day|name=value". */
  readonly tags: Map<string, UsageCounts>
  /** Names of keys, by id. */
  readonly keyNames: Map<string, string>
}

export function count(book: UsageBook, row: Counted, nowMs: number): void {
  const { day = Math.floor(nowMs / DAY_MS), counts } = row
  if ('tag' in row) {
    const { name, value } = row.tag
    const field = tagField(day, name, value)
    const isKept = book.tags.has(field) || book.tags.size < MOST_TAGS_A_PART
    addTo(book.tags, isKept ? field : tagField(day, name, ''), counts)
    return
  }
  const { key, keyName, model, channel, sub = '' } = row
  if (keyName !== undefined) book.keyNames.set(key, keyName)
  addTo(book.usage, placeOf(day, key, model, channel, sub), counts)
}

/** The field of a row. None of its parts has a bar. */
function placeOf(day: number, key: string, model: string, channel: string, sub = ''): string {
  return `${day}|${key}|${model}|${channel}|${sub}`
}

/** The name of a tag has no equals sign. */
function tagField(day: number, name: string, value: string): string {
  return `${day}|${name}=${value}`
}

function addTo(sums: Map<string, UsageCounts>, field: string, counts: UsageCounts): void {
  const known = sums.get(field) ?? {}
  addCounts(known, counts)
  sums.set(field, known)
}

export function rowsOf({ usage, keyNames }: UsageBook, { from, to, key: only }: UsageSpan): UsageRow[] {
  return [...usage].flatMap(([field, counts]) => {
    const [day = '', key = '', model = '', channel = '', sub = ''] = field.split('|')
    if (Number(day) < from || Number(day) > to || (only !== undefined && key !== only)) return []
    return [{ day: Number(day), key, keyName: keyNames.get(key), model, channel, sub, counts: { ...counts } }]
  })
}

/** The field of a tag: its day, name and value. */
export function parseTag(field: string): { day: number; name: string; value: string } {
  const [, day, name = '', value = ''] = /^(\d+)\|([^=]*)=(.*)$/s.exec(field) ?? []
  return { day: Number(day), name, value }
}

/** What entries add to the usage. `keyName`: "namespace/name" of a key, as far as it is known. */
export function countedBy(
  entries: readonly LedgerEntry[],
  keyName: (key: string) => string | undefined = () => undefined,
): Counted[] {
  const ofKeys = new Map<string, Counted>()
  const ofTags = new Map<string, Counted>()
  const add = (rows: typeof ofKeys, field: string, row: Counted) => {
    const known = rows.get(field)
    if (known === undefined) rows.set(field, { ...row, counts: { ...row.counts } })
    else addCounts(known.counts, row.counts)
  }
  for (const entry of entries) {
    const { id, sub, note } = entry
    if (note === undefined) continue
    const { key, model, channel, tags = {} } = note
    const day = Math.floor(timeOf(id) / DAY_MS)
    const counts = countsOf(entry)
    const row = { day, key, keyName: keyName(key), model, channel, sub, counts }
    add(ofKeys, placeOf(day, key, model, channel, sub), row)
    for (const [name, value] of Object.entries(tags))
      add(ofTags, tagField(day, name, value), { day, tag: { name, value }, counts })
  }
  return [...ofKeys.values(), ...ofTags.values()]
}
