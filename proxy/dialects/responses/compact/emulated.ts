/**
 * Compaction by the gateway: it requests a summary of the conversation from the upstream's model, and the client gets
 * the summary sealed, as the only item of the answer (https://platform.openai.com/docs/guides/compaction). The client sends
 * the item back in place of the conversation, and any upstream gets the summary as text.
 */
import type { ApiName } from '../../../../contract/apis.ts'
import { GatewayError, type UpstreamFailure } from '../../../errors.ts'
import type { ClientView, Emulation, StreamEncoder } from '../../core/codec.ts'
import { itemId } from '../../core/neutral/ids.ts'
import type { HostedPart, ModelAnswer, ModelRequest, PartOf, StreamPart } from '../../core/neutral/types.ts'
import { unfold } from '../../core/neutral/unfold.ts'
import type * as wire from '../wire.ts'
import { INSTRUCTION } from './prompts.ts'

/** Undefined for a request that is not a compaction. */
export function emulate(request: ModelRequest, upstream: ApiName): Emulation | undefined {
  if (request.compact !== true) return undefined
  return {
    request: summarise(request, upstream),
    answer: compacted,
    stream: (encoder, client) => new CompactingEncoder(encoder, client),
  }
}

/** The client that a summary is sealed for. */
type Owner = Pick<ClientView, 'id' | 'envelopes'>

/** Fields that are meant for answers and would spoil a summary. */
const ANSWER_FIELDS = [
  'format',
  'verbosity',
  'stop',
  'logprobs',
  'choices',
  'toolChoice',
  'parallelToolCalls',
] as const satisfies (keyof ModelRequest)[]

/** Characters. A longer text is a failure. */
const MAX_SUMMARY = 1_000_000

/**
 * The request for a summary of the conversation of `request`. Its tools stay, because some upstreams refuse a history
 * with calls of undeclared tools; the model may call none. The answer is not stored, because no request can continue it.
 * Throws GatewayError unsupported_parameter for an upstream that writes no text.
 */
export function summarise(request: ModelRequest, upstream: ApiName): ModelRequest {
  if (upstream === 'images') {
    const message = 'input requests a compaction, which a model that makes images does not support.'
    throw new GatewayError('unsupported_parameter', message, { param: 'input' })
  }
  const { compact: _compact, ...rest } = request
  const summaryRequest: ModelRequest = {
    ...rest,
    turns: [...request.turns, { role: 'user', parts: [{ type: 'text', text: INSTRUCTION }] }],
    store: false,
  }
  for (const field of ANSWER_FIELDS) delete summaryRequest[field]
  if (summaryRequest.tools.length > 0) summaryRequest.toolChoice = { type: 'none' }
  return summaryRequest
}

/**
 * The answer with the summary as its only item, without other output of the model. A failure if the model wrote no
 * summary. A summary that the output limit cut is accepted.
 */
export function compacted(answer: ModelAnswer, owner: Owner): ModelAnswer | UpstreamFailure {
  const { parts, finish, usage, tier } = answer
  const summary = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  if (summary.length > MAX_SUMMARY) return failure('summary_too_long')
  // A content filter may replace the text with its own.
  if (summary.trim() === '' || finish.reason === 'content-filter') return failure('no_summary')
  return {
    parts: [compaction(summary, owner)],
    finish: { reason: 'stop' },
    ...(usage !== undefined && { usage }),
    ...(tier !== undefined && { tier }),
  }
}

/** Writes the events of a compaction. It writes nothing before the summary is complete. */
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

  #finish({ type: _type, ...end }: PartOf<'finish'>): void {
    const answer = compacted({ ...end, parts: [{ type: 'text', text: this.#text }] }, this.#owner)
    if ('parts' in answer) unfold(answer, (part) => this.#encoder.part(part))
    else this.failure = answer
  }
}

function compaction(summary: string, { id, envelopes }: Owner): HostedPart {
  const type = 'compaction' as const
  const sealed = envelopes.seal({ dialect: 'responses', kind: 'compaction', value: summary })
  const item = { id: itemId('cmp', id, 0), type, encrypted_content: sealed } satisfies wire.Compaction
  return { type: 'hosted', dialect: 'responses', name: type, item }
}

function failure(detail: string): UpstreamFailure {
  return { class: 'unknown', status: 200, channelNotAtFault: true, detail }
}
