/** Replaces references to items by the items themselves, from stored answers. */
import { RecordUnreadable, type ResponseBinding } from '../../../store/contract.ts'
import type { ChainPosition, Chains } from '../../dialects/core/chains.ts'
import type { ParsedRequest } from '../../dialects/core/request.ts'
import { GatewayError } from '../../errors.ts'
import { StoreTime } from '../../ledger/store-time.ts'
import type { Conversations } from './conversations.ts'
import { type KeptConversations, READ_MS, unlessUnavailable } from './previous.ts'
import { readExchange } from './stored-exchange.ts'

/** Answers that one request may name items of. */
const MAX_ANSWERS = 64

/** Finds the items of one request. */
interface References {
  conversations: Pick<Conversations, 'state' | 'limits' | 'requests'>
  chains: Chains
  time: StoreTime
  owner: string
}

/**
 * The request with the items in place of their ids, as far as the gateway has kept them; ids that an upstream gave stay
 * as they are. Throws GatewayError store_unavailable, and request_too_large for a result that is larger than a request
 * may be.
 */
export async function resolveItemReferences(
  { conversations, chains, time, owner }: References,
  request: ParsedRequest,
  { references }: ChainPosition,
): Promise<ParsedRequest> {
  const ids = new Set(references.flatMap((reference) => chains.responseOf(reference) ?? []))
  if (ids.size === 0) return request
  const { requests } = conversations
  const answers = await answersOf(conversations, time, owner, [...ids].slice(0, MAX_ANSWERS))
  const named = new Set(references)
  const items = new Map<string, string>()
  for (const response of answers)
    for (const [item, text] of chains.itemsOf(response)) if (named.has(item)) items.set(item, text)
  if (items.size === 0) return request
  checkSize(references, items, request, requests.maxBodyBytes)
  return chains.resolve(request, items, requests.json)
}

/** The responses with these ids that are the owner's and still there, JSON texts. */
async function answersOf(
  { state, limits: { ttlMs } }: KeptConversations,
  time: StoreTime,
  owner: string,
  ids: string[],
): Promise<string[]> {
  const bindings = await unlessUnavailable(
    time.spend(() => Promise.all(ids.map((id) => state.response(owner, id).catch(goneIfUnreadable)))),
  )
  const reading = new StoreTime(READ_MS)
  const read = async (id: string, binding: ResponseBinding | undefined) => {
    if (binding === undefined) return undefined
    const exchange = await state.exchange(owner, binding.root, id, ttlMs)
    // A use keeps the answer for longer, so its binding must live as long.
    if (exchange !== undefined && !binding.native)
      await state.keepResponse(owner, id, ttlMs).catch(() => undefined)
    return exchange
  }
  const exchanges = await unlessUnavailable(
    reading.spend(() => Promise.all(ids.map((id, i) => read(id, bindings[i])))),
  )
  return exchanges.flatMap((exchange) => readExchange(exchange?.text ?? '')?.response ?? [])
}

function goneIfUnreadable(error: unknown): undefined {
  if (!(error instanceof RecordUnreadable)) throw error
}

/** A few references may stand for many bytes, and repeat. */
function checkSize(
  references: readonly string[],
  items: ReadonlyMap<string, string>,
  { body }: ParsedRequest,
  maxBytes: number,
): void {
  const sizes = new Map([...items].map(([id, text]) => [id, Buffer.byteLength(text)]))
  const bytes = references.reduce((sum, id) => sum + (sizes.get(id) ?? 0), body.length)
  if (bytes <= maxBytes) return
  const message = `With the items that it refers to, the request is larger than ${maxBytes} bytes.`
  throw new GatewayError('request_too_large', message, { param: 'input' })
}
