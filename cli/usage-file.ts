/**
 * The usage of `sluice dev` in a file beside its checkpoint: the store in memory forgets it with its process. A crash loses
 * the usage since the last save; balances are safe, because the checkpoint has them.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Log } from '../contract/log.ts'
import { UsageCounter } from '../controller/books/usage-counter.ts'
import { replaceFile } from '../kit/replace-file.ts'
import type { EmbeddedLedger } from '../store/embedded/ledger.ts'
import type { Counted } from '../store/ledger/contract.ts'
import { DAY_MS, packCounts, unpackCounts } from '../store/ledger/usage.ts'

const SAVE_EVERY_MS = 60_000
const KEPT_DAYS = 400

const counts = z.string().transform(unpackCounts)
const content = z.object({
  version: z.literal(1),
  /** By account, or by the place of keys without one. */
  places: z.record(
    z.string(),
    z.object({
      keys: z.array(
        z.object({
          day: z.int(),
          key: z.string(),
          keyName: z.string().optional(),
          model: z.string(),
          channel: z.string(),
          sub: z.string(),
          counts,
        }),
      ),
      tags: z.array(z.object({ day: z.int(), name: z.string(), value: z.string(), counts })),
    }),
  ),
})

export interface UsageFile {
  /** Saves every minute from now on. */
  start(): void
  /** Counts what is new and saves it. A failure is logged. */
  stop(): Promise<void>
}

/** Counts what the file has in the ledger, which must be new. Rejects with the name of a file that cannot be read. */
export async function openUsageFile(folder: string, ledger: EmbeddedLedger, log: Log): Promise<UsageFile> {
  const path = join(folder, 'usage.json')
  const counter = new UsageCounter(ledger, { key: () => undefined })
  const oldest = Math.floor(Date.now() / DAY_MS) - KEPT_DAYS
  let saved = ''
  let timer: NodeJS.Timeout | undefined
  let saving = Promise.resolve()

  for (const [place, { keys, tags }] of Object.entries((await read(path)).places)) {
    const rows: Counted[] = [
      ...keys,
      ...tags.map(({ day, name, value, counts }) => ({ day, tag: { name, value }, counts })),
    ]
    await ledger.count(
      place,
      rows.filter(({ day = 0 }) => day >= oldest),
    )
  }

  async function write(): Promise<void> {
    for await (const account of accountsOf(ledger)) await counter.count(account)
    const span = { from: 0, to: Number.MAX_SAFE_INTEGER }
    const places: Record<string, object> = {}
    for (const place of ledger.usagePlaces()) {
      const keys: object[] = []
      for await (const rows of ledger.usage(place, span))
        for (const row of rows) keys.push({ ...row, counts: packCounts(row.counts) })
      const tags = await ledger.tagUsage(place, span)
      places[place] = { keys, tags: tags.map((row) => ({ ...row, counts: packCounts(row.counts) })) }
    }
    const text = `${JSON.stringify({ version: 1, places })}\n`
    if (text === saved) return
    await replaceFile(path, `${path}.new`, text)
    saved = text
  }

  const save = () => {
    saving = saving
      .then(write)
      .catch((error: unknown) => log.error({ err: error }, `the usage cannot be saved in ${path}`))
    return saving
  }
  return {
    start() {
      timer = setInterval(save, SAVE_EVERY_MS).unref()
    },
    async stop() {
      clearInterval(timer)
      await save()
    },
  }
}

async function read(path: string): Promise<z.output<typeof content>> {
  try {
    return content.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { version: 1, places: {} }
    throw new Error(`the usage in ${path} cannot be read`, { cause: error })
  }
}

async function* accountsOf(ledger: EmbeddedLedger): AsyncGenerator<string> {
  let cursor: string | undefined
  do {
    const { accounts, next } = await ledger.walk(cursor, 1_000)
    yield* accounts
    cursor = next
  } while (cursor !== undefined)
}
