/** Finds the response that a request continues: on its connection, or in the store. */
import {
  RecordUnreadable,
  type ResponseBinding,
  type StateStore,
  StoreUnavailable,
} from '../../../store/contract.ts'
import type { Chains } from '../../dialects/core/chains.ts'
import { GatewayError } from '../../errors.ts'
import { StoreTime } from '../../ledger/store-time.ts'
import type { ConnectionMemory } from '../call.ts'
import { readExchange, type StoredExchange } from './stored-exchange.ts'

/** Conversations in the store. */
export interface KeptConversations {
  state: StateStore
  limits: {
    /** How long a conversation is kept after its last use. */
    ttlMs: number
    /** How long the channel of a response is remembered whose upstream keeps it. */
    bindingTtlMs: number
    exchangeBytes: number
    ownerBytes: number
  }
}

/** The most turns that are read: a longer chain would have been compacted, or is a loop. */
const MAX_EXCHANGES = 2_000
/** Longer than for other reads, because conversations may have megabytes. */
export const READ_MS = 3_000

export interface Previous {
  id: string
  /** Absent for a response that only its connection remembers. */
  binding?: ResponseBinding
  /**
   * All items up to and including this response; undefined if they are not stored (any more). Throws GatewayError
   * store_unavailable.
   */
  history(): Promise<readonly string[] | undefined>
}

interface Known {
  conversations: KeptConversations
  memory: ConnectionMemory | undefined
  time: StoreTime
  chains: Chains
}

/**
 * Throws GatewayError previous_response_not_found for an id that is unknown, gone, or another owner's, and
 * store_unavailable if the store cannot answer.
 */
export async function findPrevious(known: Known, owner: string, id: string): Promise<Previous> {
  const { conversations, memory, time, chains } = known
  const remembered = memory?.history(id)
  const binding = await bindingOf(conversations.state, time, owner, id).catch((error: unknown) => {
    if (remembered !== undefined) return undefined
    throw error
  })
  if (binding === undefined) {
    if (remembered === undefined) throw notFound(id)
    return { id, history: async () => remembered }
  }
  let read: Promise<readonly string[] | undefined> | undefined
  const history = async () => {
    if (remembered !== undefined) return remembered
    const stored = await storedExchanges(conversations, owner, binding, id)
    return stored && chains.history(stored)
  }
  return {
    id,
    binding,
    history() {
      read ??= history()
      return read
    },
  }
}

export function notFound(id: string): GatewayError {
  const message = `Previous response with id '${id.slice(0, 128)}' not found.`
  return new GatewayError('previous_response_not_found', message, { param: 'previous_response_id' })
}

/** Where a response is kept; undefined also for a record that cannot be read. Throws GatewayError store_unavailable. */
export async function bindingOf(
  state: StateStore,
  time: StoreTime,
  owner: string,
  id: string,
): Promise<ResponseBinding | undefined> {
  try {
    return await unlessUnavailable(time.spend(() => state.response(owner, id)))
  } catch (error) {
    if (error instanceof RecordUnreadable) return undefined
    throw error
  }
}

/** From the first of the chain to `id`; undefined when one of them is gone. Throws GatewayError store_unavailable. */
export async function storedExchanges(
  { state, limits: { ttlMs } }: KeptConversations,
  owner: string,
  { root, native }: ResponseBinding,
  id: string,
): Promise<StoredExchange[] | undefined> {
  const time = new StoreTime(READ_MS)
  const exchanges = await unlessUnavailable(
    time.spend(() => state.exchanges(owner, { root, id }, ttlMs, MAX_EXCHANGES)),
  )
  // The read keeps the exchanges for longer, so the binding must live as long.
  if (exchanges !== undefined && !native)
    await time.spend(() => state.keepResponse(owner, id, ttlMs)).catch(() => undefined)
  const read = exchanges?.flatMap(({ text }) => readExchange(text) ?? [])
  return read?.length === exchanges?.length ? read : undefined
}

/** Turns StoreUnavailable into a GatewayError: without this, a record that cannot be read now would pass for absent. */
export async function unlessUnavailable<T>(read: Promise<T>): Promise<T> {
  try {
    return await read
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    throw new GatewayError('store_unavailable', 'Conversations are not available at the moment.', {
      retryAfterSeconds: 1,
      cause: error,
    })
  }
}
