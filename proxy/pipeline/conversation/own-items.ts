/**
 * Clients share a channel's credential, so its upstream would give each client all items. Each may name only its own.
 */
import { GatewayError } from '../../errors.ts'
import type { StoreTime } from '../../ledger/store-time.ts'
import type { Conversations } from './conversations.ts'
import { unlessUnavailable } from './previous.ts'

/** References that one request may have. */
const MAX_REFERENCES = 256

/** Throws GatewayError invalid_request for an item that was never given to this owner, and store_unavailable. */
export async function refuseForeignItems(
  { affinity }: Pick<Conversations, 'affinity'>,
  time: StoreTime,
  owner: string,
  references: readonly string[],
): Promise<void> {
  if (references.length === 0) return
  const few = references.slice(0, MAX_REFERENCES)
  const known = await unlessUnavailable(
    time.spend(() => Promise.all(few.map((reference) => affinity.knows('state', owner, reference)))),
  )
  if (references.length <= MAX_REFERENCES && known.every(Boolean)) return
  const message = 'The input refers to an item that is not found: send the item itself.'
  throw new GatewayError('invalid_request', message, { param: 'input' })
}
