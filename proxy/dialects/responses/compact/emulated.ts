/**
 * Compaction by the gateway: the upstream's model is asked for a summary of the conversation, and the client gets it
 * sealed, as the one item of the answer (https://platform.openai.com/docs/guides/compaction). It sends the item back
 * in place of the conversation, to whatever upstream, which reads the summary as text.
 */
import type { ApiName } from '../../../../contract/endpoints.ts'
import { GatewayError, type UpstreamFailure } from '../../../errors.ts'
import type { ClientView, Emulation, StreamEncoder } from '../../core/dialect.ts'
import { itemId } from '../../core/neutral/ids.ts'
import type { HostedPart, ModelAnswer, ModelRequest, StreamPart } from '../../core/neutral/types.ts'
import { unfold } from '../../core/neutral/unfold.ts'
import { INSTRUCTION } from './words.ts'

/** The task of compacting a conversation; undefined for a request that does not ask for it. */
export function emulate(request: ModelRequest, upstream: ApiName): Emulation | undefined {
  if (request.compact !== true) return undefined
  return {
    request: summarise(request, upstream),
    answer: compacted,
    stream: (encoder, client) => new CompactingEncoder(encoder, client),
  }
}

/** Whom a summary is for. */
type Owner = Pick<ClientView, 'id' | 'envelopes'>

/** What is meant for the answers of the conversation, and would spoil a summary. */
const UNASKED = [
  'format',
  'verbosity',
  'stop',
  'logprobs',
  'choices',
  'toolChoice',
  'parallelToolCalls',
] as const satisfies (keyof ModelRequest)[]

/** Characters. More is no summary. */
const MAX_SUMMARY = 1_000_000

/**
 * The request for a summary of what `request` has. Its tools stay, for some upstreams refuse calls in the history of
 * tools that are not declared; none may be called. Nobody can go on from the answer itself, so that it is not stored.
 * Throws GatewayError unsupported_parameter for an upstream that writes no text.
 */
export function summarise(request: ModelRequest, upstream: ApiName): ModelRequest {
  if (upstream === 'images') {
    const message = 'input asks for a compaction, which a model that makes pictures does not offer.'
    throw new GatewayError('unsupported_parameter', message, { param: 'input' })
  }
  const { compact: _compact, ...rest } = request
  const asked: ModelRequest = {
    ...rest,
    turns: [...request.turns, { role: 'user', parts: [{ type: 'text', text: INSTRUCTION }] }],
    store: false,
  }
  for (const field of UNASKED) delete asked[field]
  if (asked.tools.length > 0) asked.toolChoice = { type: 'none' }
  return asked
}

/**
 * The answer with the summary in it as its only item; what else the model said is left out. A failure when it wrote no
 * summary. One that the output limit has cut is better than none.
 */
export function compacted(answer: ModelAnswer, owner: Owner): ModelAnswer | UpstreamFailure {
  const { parts, finish, usage, tier } = answer
  const summary = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  if (summary.length > MAX_SUMMARY) return failure('summary_too_long')
  // Who filters an answer may put words of his own in its place.
  if (summary.trim() === '' || finish.reason === 'content-filter') return failure('no_summary')
  return {
    parts: [compaction(summary, owner)],
    finish: { reason: 'stop' },
    ...(usage !== undefined && { usage }),
    ...(tier !== undefined && { tier }),
  }
}

/** Writes the events of a compacted answer. Nothing is written before the summary is complete. */
export class CompactingEncoder implements StreamEncoder {
  failure: UpstreamFailure | undefined
  readonly #encoder: StreamEncoder
  readonly #owner: Owner
  #text = ''

  constructor(encoder: StreamEncoder, owner: Owner) {
    this.#encoder = encoder
    this.#owner = owner
  }

  part(part: StreamPart): void {
    if (this.failure !== undefined) return
    if (part.type === 'text-delta') this.#add(part.text)
    else if (part.type === 'finish') this.#finish(part)
  }

  take(): string {
    return this.#encoder.take()
  }

  error(error: GatewayError, requestId: string): string {
    return this.#encoder.error(error, requestId)
  }

  #add(text: string): void {
    if (this.#text.length + text.length > MAX_SUMMARY) this.failure = failure('summary_too_long')
    else this.#text += text
  }

  #finish({ type: _type, ...end }: Extract<StreamPart, { type: 'finish' }>): void {
    const answer = compacted({ ...end, parts: [{ type: 'text', text: this.#text }] }, this.#owner)
    if ('parts' in answer) unfold(answer, (part) => this.#encoder.part(part))
    else this.failure = answer
  }
}

function compaction(summary: string, { id, envelopes }: Owner): HostedPart {
  const type = 'compaction'
  const sealed = envelopes.seal({ dialect: 'responses', kind: 'compaction', value: summary })
  const item = { id: itemId('cmp', id, 0), type, encrypted_content: sealed }
  return { type: 'hosted', dialect: 'responses', name: type, item }
}

function failure(detail: string): UpstreamFailure {
  return { class: 'unknown', status: 200, blameless: true, detail }
}
