import { z } from 'zod'
import { jsonOf } from '../../contract/text.ts'
import { RecordUnreadable, responseBinding, type StateStore } from '../contract.ts'
import { LOG, responseKey } from '../keys.ts'
import type { KeyRing } from '../sealing.ts'
import type { RedisConnection } from './connection.ts'
import { createRedisConversations } from './conversations.ts'
import { lifetime } from './lifetime.ts'
import { stored } from './replies.ts'

/**
 * Approximate memory of the server for the log, in bytes. The log shares the server with balances: without memory, no
 * request could be admitted.
 */
const LOG_BYTES = 33_554_432
/** Number of lines for the mean size of a line. */
const MEAN_OVER = 100
const BATCH_MS = 25
/** So that the script does not hold up the server for long: lines with errors of upstreams are large. */
const BATCH_LINES = 64
const BATCH_BYTES = 262_144
/** The whole log may have megabytes. */
const READ_LOG_MS = 3_000

/** Entries of the log, each with the field `line`. */
const lines = z
  .array(z.tuple([z.string(), z.tuple([z.literal('line'), z.string()])]))
  .nullable()
  .transform((entries) => (entries ?? []).map(([, [, line]]) => line))

/** `logCapacity`: lines that the request log keeps, fewer if they are large; Redis drops older ones in batches. */
export function createRedisState(
  connection: RedisConnection,
  ring: KeyRing,
  logCapacity: number,
): StateStore & { flush(): Promise<void> } {
  const log = logBatches(connection, logCapacity)
  return {
    async putResponse(owner, id, binding, ttlMs) {
      const text = JSON.stringify(binding)
      await connection.command(['SET', responseKey(owner, id), text, 'PX', lifetime(ttlMs)])
    },
    async response(owner, id) {
      const key = responseKey(owner, id)
      const text = stored.parse(await connection.command(['GET', key]))
      if (text === null) return undefined
      const { data } = responseBinding.safeParse(jsonOf(text))
      if (data === undefined) throw new RecordUnreadable(`${key} is not the binding of a response`)
      return data
    },
    async keepResponse(owner, id, ttlMs) {
      await connection.command(['PEXPIRE', responseKey(owner, id), lifetime(ttlMs), 'GT'])
    },
    async removeResponse(owner, id) {
      await connection.command(['DEL', responseKey(owner, id)])
    },
    ...createRedisConversations(connection, ring),
    appendLog: log.append,
    /** Resolves when the lines so far have reached the store, or cannot. */
    flush: log.flush,
    async recentLog(count) {
      return lines.parse(await connection.command(['XREVRANGE', LOG, '+', '-', 'COUNT', count], READ_LOG_MS))
    },
  }
}

/**
 * Appends lines, those of BATCH_MS in one command: a command of its own for each line would cost a request a
 * third of what its hold costs.
 */
function logBatches(connection: RedisConnection, capacity: number) {
  /** Mean size of a line in bytes. */
  let mean = 0
  let waiting: { lines: string[]; bytes: number; sent: Promise<void> } | undefined
  const send = async (lines: string[]) => {
    await new Promise((resolve) => setTimeout(resolve, BATCH_MS))
    if (waiting?.lines === lines) waiting = undefined
    const kept = Math.min(capacity, Math.ceil(LOG_BYTES / mean))
    await connection.run('log/append', [LOG], [kept, ...lines])
  }
  return {
    append(line: string): Promise<void> {
      const bytes = Buffer.byteLength(line)
      mean += (bytes - mean) / MEAN_OVER
      if (waiting === undefined || waiting.lines.length >= BATCH_LINES || waiting.bytes >= BATCH_BYTES) {
        const lines: string[] = []
        waiting = { lines, bytes: 0, sent: send(lines) }
      }
      waiting.lines.push(line)
      waiting.bytes += bytes
      return waiting.sent
    },
    async flush(): Promise<void> {
      // The connection keeps its order: older batches have been sent by then.
      await waiting?.sent.catch(() => undefined)
    },
  }
}
