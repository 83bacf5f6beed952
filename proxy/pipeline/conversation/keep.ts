/** Stores the items that an answer adds to its conversation, before the client gets the end of the answer. */
import { totalInput, type Usage } from '../../../contract/usage.ts'
import { withDeadline } from '../../../kit/time.ts'
import type { ResponseBinding } from '../../../store/contract.ts'
import type { AnswerRecord, ChainPosition } from '../../dialects/core/chains.ts'
import { outputEstimate } from '../../ledger/estimate.ts'
import type { ConnectionMemory } from '../call.ts'
import type { Conversations } from './conversations.ts'
import type { Previous } from './previous.ts'
import { writeExchange } from './stored-exchange.ts'

/** How long an answer waits for the store. */
const KEEP_MS = 1_000

/** The channel and lane of an answer. */
export interface AnsweredBy {
  /** namespace/name of the channel; '' for an answer without an upstream. */
  channel: string
  /** The byte lane was used, so the upstream knows the response by the same id as the client. */
  native: boolean
}

/** `native`: the upstream keeps the conversation as well. */
interface ServedBy extends AnsweredBy {
  usage: Usage | undefined
}

export interface KeptRequest {
  conversations: Pick<Conversations, 'state' | 'limits' | 'failed'>
  memory: ConnectionMemory | undefined
  owner: string
  position: ChainPosition
  previous: Previous | undefined
  /** Items that the request added, JSON texts. */
  input: string[]
}

/** Never rejects: an answer that cannot be stored is still served. */
export async function keepAnswer(request: KeptRequest, answer: AnswerRecord, by: ServedBy): Promise<void> {
  const { conversations, position } = request
  const work = [remember(request, answer), ...(position.store ? [store(request, answer, by)] : [])]
  const failed = (error: unknown) => conversations.failed(error)
  const late = () => new Error('the store did not answer in time')
  await withDeadline(Promise.all(work.map((kept) => kept.catch(failed))), KEEP_MS, late).catch(failed)
}

/** Remembers the answer on the connection that it goes to. */
async function remember(
  { memory, previous, input }: KeptRequest,
  { id, items }: AnswerRecord,
): Promise<void> {
  if (memory === undefined) return
  const added = [...input, ...items]
  if (previous === undefined || memory.history(previous.id) !== undefined) {
    memory.remember(id, previous?.id, added)
    return
  }
  // Another connection began the conversation.
  const before = await previous.history()
  if (before !== undefined) memory.remember(id, undefined, [...before, ...added])
}

async function store(
  { conversations, owner, previous, input }: KeptRequest,
  { id, items: output, response }: AnswerRecord,
  { channel, native, usage }: ServedBy,
): Promise<void> {
  const { state, limits } = conversations
  // Some upstreams give all their answers the same id; an answer must not become its own parent.
  const before = previous?.id === id ? undefined : previous?.binding
  const place = before === undefined ? { root: id } : { root: before.root, parent: previous?.id ?? id }
  const binding: ResponseBinding = {
    ...place,
    channel,
    upstreamId: id,
    native,
    contextTokens:
      usage === undefined
        ? (previous?.binding?.contextTokens ?? 0) + estimated([...input, ...output])
        : totalInput(usage) + usage.output,
  }
  const { ttlMs, bindingTtlMs, exchangeBytes, ownerBytes } = limits
  const keepText = async () => {
    // A chain that begins here must contain the whole history. If that is lost, store nothing: a part would pass for
    // the whole.
    const earlier = before !== undefined || previous === undefined ? [] : await previous.history()
    if (earlier === undefined) return
    const text = writeExchange({ input: [...earlier, ...input], output, response })
    await state.putExchange(owner, { id, ...place, text }, ttlMs, { exchangeBytes, ownerBytes })
  }
  await Promise.all([state.putResponse(owner, id, binding, native ? bindingTtlMs : ttlMs), keepText()])
}

/** Estimated tokens of JSON texts. */
function estimated(items: readonly string[]): number {
  const bytes = items.reduce((sum, item) => sum + Buffer.byteLength(item), 0)
  return outputEstimate({ deltas: 0, bytes })
}
