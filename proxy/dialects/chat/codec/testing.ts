/** Helpers for the tests of the codec. */

import type { Features } from '../../../../contract/features.ts'
import { featuresOf, type Profile } from '../../../../contract/profiles.ts'
import type { ClientView, StreamFeatures } from '../../core/codec.ts'
import type { Losses } from '../../core/neutral/losses.ts'
import type { ApiName, Carrier, Envelopes, ModelRequest, StreamPart } from '../../core/neutral/types.ts'
import type { ParsedRequest } from '../../core/request.ts'
import { noLosses, type SourcedRequest } from '../../testing.ts'
import type { SplicePoints } from '../byte-lane/splice.ts'
import { chat } from '../index.ts'

/** Readable envelopes: `slc1.` and the carrier as JSON. `slc1.forged` is a broken one. */
export const envelopes: Envelopes = {
  seal: (carrier) => `slc1.${JSON.stringify(carrier)}`,
  open: (text) => {
    if (!text.startsWith('slc1.')) return 'foreign'
    return text === 'slc1.forged' ? 'broken' : (JSON.parse(text.slice(5)) as Carrier)
  },
}

export function parse(body: object): ParsedRequest<SplicePoints> {
  return chat.parseRequest(Buffer.from(JSON.stringify(body)), { maxDepth: 64, maxKeys: 10_000 }, {})
}

/** A decoded chat request: a greeting, overridden by `fields`. */
export function decode(fields: object): ModelRequest {
  const body = { model: 'M', messages: [{ role: 'user', content: 'Hi' }], ...fields }
  return chat.codec.decodeRequest(parse(body), envelopes)
}

/** The body for a chat upstream of the profile, and the losses. */
export function encode(
  request: ModelRequest | SourcedRequest,
  profile: Profile = 'generic',
  overrides: Partial<Features> = {},
) {
  const losses = noLosses('source' in request ? request.source : 'chat')
  const features = featuresOf('chat_completion', profile, overrides)
  const target = { model: 'up', features, defaultMaxOutputTokens: 8192, losses }
  const { body } = chat.codec.encodeRequest(request, target)
  return { body, losses: losses.names }
}

/** A request as another dialect might decode it. */
export function foreign(fields: Partial<ModelRequest>, source: ApiName = 'messages'): SourcedRequest {
  const turns: ModelRequest['turns'] = [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }]
  return { source, model: 'M', stream: false, turns, tools: [], ...fields }
}

export function clientOf(fields: object = {}): ClientView & { losses: Losses } {
  const parsed = parse({ model: 'M', messages: [{ role: 'user', content: 'Hi' }], ...fields })
  const request = chat.codec.decodeRequest(parsed, envelopes)
  return {
    request,
    parsed,
    id: 'x1',
    created: 1_700_000_000,
    inputTokens: 7,
    envelopes,
    losses: noLosses('chat'),
  }
}

/** The parts of a stream of data lines, and its decoder after the end of the stream. */
export function decodeEvents(data: (string | object)[], features?: StreamFeatures) {
  const parts: StreamPart[] = []
  const decoder = chat.codec.decodeStream(
    (part) => parts.push(part),
    parse({ model: 'M', messages: [{ role: 'user', content: 'Hi' }] }),
    features,
  )
  for (const item of data) decoder.event('', typeof item === 'string' ? item : JSON.stringify(item))
  decoder.end()
  return { parts, decoder }
}

/** A chunk with one choice. */
export function chunk(delta: object, finish_reason: string | null = null, fields: object = {}): object {
  return {
    id: 'chatcmpl-up',
    object: 'chat.completion.chunk',
    created: 1_600_000_000,
    model: 'up',
    choices: [{ index: 0, delta, finish_reason }],
    ...fields,
  }
}
