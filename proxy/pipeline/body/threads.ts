/** Parses and converts large bodies in threads, so that the requests of other clients need not wait. */
import type { Cancellation } from '../../../kit/cancel.ts'
import { ThreadEnded, ThreadPool } from '../../../kit/thread-pool.ts'
import { BodyValue } from '../../dialects/core/json/body-value.ts'
import type { Apart, ApartTarget } from '../../dialects/core/lanes/apart.ts'
import type { Envelopes } from '../../dialects/core/neutral/types.ts'
import type { ParsedRequest } from '../../dialects/core/request.ts'
import { errorOf, type Job, type Reply, type SharedBody } from './job.ts'
import { noMemory } from './memory.ts'
import type { BodyTurns } from './turns.ts'

const IDLE_MS = 30_000
const STEP_ITEMS = 25
/** Enough to convert the largest body that is allowed by default. */
const HEAP_MIB = 1_024

export interface ConvertTarget {
  to: ApartTarget
  /** Opens the vendor state that the gateway sealed. The keys stay in this thread. */
  open: Envelopes['open']
}

/** All reject with GatewayError, or with the reason of the signal. `client`: for its turn. */
export interface BodyThreads {
  /** Parses the body as its dialect does. */
  parse(client: string, body: SharedBody, signal: Cancellation): Promise<ParsedRequest>
  /** Converts a request. `open` opens its envelopes. */
  convert(client: string, body: SharedBody, target: ConvertTarget, signal: Cancellation): Promise<Apart>
  stop(): void
}

/** `size`: the most threads. */
export function openBodyThreads(turns: BodyTurns, size: number): BodyThreads {
  const { url } = import.meta
  // The package has JavaScript instead.
  const module = new URL(url.endsWith('.ts') ? './thread.ts' : './thread.js', url)
  const pool = new ThreadPool<Job, Reply>({ module, size, idleMs: IDLE_MS, heapMiB: HEAP_MIB })
  const ask = (client: string, job: Job, signal: Cancellation) =>
    turns.take(client, signal, () => pool.ask(job, signal).catch(toRefusal))
  return {
    async parse(client, body, signal) {
      const reply = await ask(client, { kind: 'parse', body }, signal)
      if (!('parsed' in reply)) throw errorOf(reply)
      const bytes = Buffer.from(body.bytes)
      return { ...reply.parsed, body: bytes, value: new BodyValue(bytes) }
    },
    async convert(client, body, { to, open }, signal) {
      const opened = new Map<string, ReturnType<typeof open>>()
      for (;;) {
        const reply = await ask(client, { kind: 'convert', body, to, opened }, signal)
        if ('converted' in reply) return reply.converted
        if (!('sealed' in reply)) throw errorOf(reply)
        await inSteps(reply.sealed, (text) => void opened.set(text, open(text)))
      }
    },
    stop: () => pool.stop(),
  }
}

/** Others have their turn after each few items: opening an envelope takes 20 µs or more. */
async function inSteps<T>(items: readonly T[], each: (item: T) => void): Promise<void> {
  for (const [n, item] of items.entries()) {
    each(item)
    if (n % STEP_ITEMS === STEP_ITEMS - 1) await new Promise(setImmediate)
  }
}

function toRefusal(error: unknown): never {
  throw error instanceof ThreadEnded && error.outOfMemory ? noMemory() : error
}
