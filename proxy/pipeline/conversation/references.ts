/** Items that a request only names, from the stored answers that they are of. */
import { RecordUnreadable, type ResponseBinding, type StateStore } from '../../../store/contract.ts'
import type { ChainPosition, Chains } from '../../dialects/core/chains.ts'
import type { ParsedRequest } from '../../dialects/core/dialect.ts'
import { GatewayError } from '../../errors.ts'
import { StoreTime } from '../../ledger/store-time.ts'
import { type Gateway, jsonLimitsOf } from '../gateway.ts'
import type { Asked } from './open.ts'
import { type ConversationLimits, READ_MS, told } from './previous.ts'
import { readExchange } from './stored-exchange.ts'

/** Answers that one request may name items of. */
const MAX_ANSWERS = 64

interface Known {
  state: StateStore
  conversations: ConversationLimits
  time: StoreTime
  owner: string
}

/**
 * The request with what it names, as far as the gateway has kept it; ids that an upstream gave stay as they are. Throws
 * GatewayError store_unavailable, and request_too_large for what would be larger than a request may be.
 */
export async function sayReferences(
  {
    gateway,
    request,
    time,
  }: { gateway: Pick<Gateway, 'state' | 'conversations' | 'limits'> } & Pick<Asked, 'request' | 'time'>,
  chains: Chains,
  { references }: ChainPosition,
  owner: string,
): Promise<ParsedRequest> {
  const ids = new Set(references.flatMap((reference) => chains.responseOf(reference) ?? []))
  if (ids.size === 0) return request
  const { state, conversations, limits } = gateway
  const answers = await answersOf({ state, conversations, time, owner }, [...ids].slice(0, MAX_ANSWERS))
  const named = new Set(references)
  const items = new Map<string, string>()
  for (const response of answers)
    for (const [item, text] of chains.itemsOf(response)) if (named.has(item)) items.set(item, text)
  if (items.size === 0) return request
  checkSize(references, items, request, limits.maxBodyBytes)
  return chains.resolve(request, items, jsonLimitsOf(limits))
}

/** The responses with these ids that are the owner's and still there, JSON texts. */
async function answersOf({ state, conversations, time, owner }: Known, ids: string[]): Promise<string[]> {
  const { ttlMs } = conversations
  const bindings = await told(
    time.spend(() => Promise.all(ids.map((id) => state.response(owner, id).catch(goneIfUnreadable)))),
  )
  const reading = new StoreTime(READ_MS)
  const read = async (id: string, binding: ResponseBinding | undefined) => {
    if (binding === undefined) return undefined
    const exchange = await state.exchange(owner, binding.root, id, ttlMs)
    // It was needed: so the way to it is.
    if (exchange !== undefined && !binding.native)
      await state.keepResponse(owner, id, ttlMs).catch(() => undefined)
    return exchange
  }
  const exchanges = await told(reading.spend(() => Promise.all(ids.map((id, i) => read(id, bindings[i])))))
  return exchanges.flatMap((exchange) => readExchange(exchange?.text ?? '')?.response ?? [])
}

function goneIfUnreadable(error: unknown): undefined {
  if (!(error instanceof RecordUnreadable)) throw error
}

/** A few names may stand for much, again and again. */
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
