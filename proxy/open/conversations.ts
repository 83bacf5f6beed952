/** State that is kept between the requests of a client. */
import type { Environment } from '../../contract/env.ts'
import type { Store } from '../../store/contract.ts'
import { createAffinity } from '../affinity/affinity.ts'
import type { BodyThreads } from '../pipeline/body/threads.ts'
import type { Conversations } from '../pipeline/conversation/conversations.ts'
import type { Limits } from '../pipeline/limits.ts'
import type { StoreAlarms } from '../telemetry/alarms.ts'

const DAY_MS = 86_400_000

interface ConversationOptions {
  store: Pick<Store, 'state' | 'affinity' | 'sealing'>
  env: Environment
  limits: Limits
  alarms: StoreAlarms
  threads: BodyThreads
}

export function openConversations({ store, env, limits, alarms, threads }: ConversationOptions) {
  const conversations: Conversations = {
    state: store.state,
    affinity: createAffinity(store.affinity),
    sealing: store.sealing,
    limits: {
      ttlMs: env.SLUICE_CONVERSATION_TTL,
      bindingTtlMs: env.SLUICE_BINDING_DAYS * DAY_MS,
      exchangeBytes: env.SLUICE_MAX_EXCHANGE_BYTES,
      ownerBytes: env.SLUICE_MAX_CONVERSATION_BYTES,
    },
    requests: limits,
    threads,
    failed: (error) => alarms.stateFailed(error),
  }
  // All of it is in the store, so there are no gauges and there is nothing to stop.
  return { conversations, gauges: {}, stop() {} }
}
