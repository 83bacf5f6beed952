/** Connects the codecs as the pipeline does, without a server, a clock or random values. */

import type { ApiName } from '../../../contract/apis.ts'
import { typeOf } from '../../../contract/channel-types.ts'
import type { Features } from '../../../contract/features.ts'
import { featuresOf } from '../../../contract/profiles.ts'
import type { ClientView, StreamDecoder, StreamEncoder } from '../../../proxy/dialects/core/codec.ts'
import type { Dialect } from '../../../proxy/dialects/core/dialect.ts'
import { isRecord, tryParse } from '../../../proxy/dialects/core/json/value.ts'
import { lanesOf } from '../../../proxy/dialects/core/lanes/index.ts'
import type { Lane } from '../../../proxy/dialects/core/lanes/lane.ts'
import { fold } from '../../../proxy/dialects/core/neutral/fold.ts'
import { addExtLosses, type Losses } from '../../../proxy/dialects/core/neutral/losses.ts'
import type {
  Carrier,
  Envelopes,
  ModelAnswer,
  StreamPart,
} from '../../../proxy/dialects/core/neutral/types.ts'
import type { ParsedRequest } from '../../../proxy/dialects/core/request.ts'
import { DIALECTS } from '../../../proxy/dialects/index.ts'
import { noLosses, type SourcedRequest } from '../../../proxy/dialects/testing.ts'
import type { UpstreamFailure } from '../../../proxy/errors.ts'
import { specEvents } from './sse.ts'

/** The dialects with rows and fixtures in the tables of the tests. */
export const NAMES = ['chat', 'responses', 'messages'] as const satisfies ApiName[]
export type DialectName = (typeof NAMES)[number]

/** Every ordered pair of different dialects: client, upstream. */
export const PAIRS = NAMES.flatMap((client) =>
  NAMES.filter((upstream) => upstream !== client).map((upstream) => [client, upstream] as const),
)

export function dialectOf(name: DialectName): Dialect {
  return DIALECTS[name]
}

/** Readable envelopes, so that tests can compare sealed values. */
export const envelopes: Envelopes = {
  seal: (carrier) => `slc1.${carrier.kind}.${Buffer.from(JSON.stringify(carrier)).toString('base64url')}`,
  open(text) {
    if (!text.startsWith('slc1.')) return 'foreign'
    const value = tryParse(Buffer.from(text.split('.')[2] ?? '', 'base64url').toString())
    return isRecord(value) ? (value as unknown as Carrier) : 'broken'
  },
}

/** An upstream with all features of its dialect. */
export function allFeatures(upstream: DialectName, overrides: Partial<Features> = {}): Features {
  return featuresOf(typeOf(upstream), 'generic', {
    maxCompletionTokens: true,
    sampling: true,
    reasoningHistory: 'All',
    structuredOutput: true,
    customTools: dialectOf(upstream).conversation?.tools.customTools === true,
    webSearch: true,
    systemTurns: true,
    prefill: true,
    cacheMarks: true,
    speed: true,
    ...overrides,
  })
}

export function parse(name: DialectName, body: object): ParsedRequest {
  const bytes = Buffer.from(JSON.stringify(body))
  return dialectOf(name).parseRequest(bytes, { maxDepth: 200, maxKeys: 100_000 }, {})
}

export function decodeRequest(name: DialectName, body: object): SourcedRequest {
  return { ...dialectOf(name).codec.decodeRequest(parse(name, body), envelopes), source: name }
}

export interface Converted {
  body: Record<string, unknown>
  losses: string[]
}

/** Writes a request for an upstream. Drops `undefined` members, as JSON does. */
export function encodeRequest(
  request: SourcedRequest,
  upstream: DialectName,
  features = allFeatures(upstream),
  model = request.model,
): Converted {
  const losses = noLosses(request.source)
  const { body } = dialectOf(upstream).codec.encodeRequest(request, {
    model,
    features,
    defaultMaxOutputTokens: 8192,
    losses,
  })
  addExtLosses(request, upstream, losses)
  return { body: JSON.parse(JSON.stringify(body)), losses: losses.names }
}

/** The client of an answer to `body`. */
export function clientOf(name: DialectName, body: object): ClientView & { losses: Losses } {
  const parsed = parse(name, body)
  const { codec } = dialectOf(name)
  const echo = codec.echo?.(parsed)
  return {
    request: codec.decodeRequest(parsed, envelopes),
    parsed,
    ...(echo && { echo }),
    id: 'abcdefghijklmnopqrstuvwx',
    created: 1_760_000_000,
    inputTokens: 7,
    envelopes,
    losses: noLosses(name),
  }
}

/** The lane that the pipeline chooses: byte lane for equal dialects, hub for different ones. */
export function laneOf(
  client: DialectName,
  body: object,
  upstream: DialectName,
  features: Partial<Features> = {},
  model = 'up',
): Lane {
  const { parsed, id, created, inputTokens } = clientOf(client, body)
  const lanes = lanesOf(
    {
      client: dialectOf(client),
      parsed,
      id,
      created,
      inputTokens,
      envelopes,
      rewriteModel: true,
      unsupported: 'Drop',
      defaultMaxOutputTokens: 8192,
    },
    DIALECTS,
  )
  return lanes.open({
    lane: client === upstream ? 'byte' : 'hub',
    api: upstream,
    model,
    features: allFeatures(upstream, features),
    channel: 'ns/c',
    withoutCarriers: false,
  })
}

/** A request as the upstream gets it, with the names of its losses. */
export function convert(
  client: DialectName,
  body: object,
  upstream: DialectName,
  features: Partial<Features> = {},
): Converted {
  const lane = laneOf(client, body, upstream, features)
  return { body: JSON.parse(lane.body.toString()), losses: [...lane.losses.names].sort() }
}

/** A minimal request of the dialect. */
export function minimalRequest(name: DialectName, more: object = {}): Record<string, unknown> {
  if (name === 'chat') return { model: 'm', messages: [{ role: 'user', content: 'Hello' }], ...more }
  if (name === 'responses') return { model: 'm', input: 'Hello', ...more }
  return { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }], ...more }
}

/** A request for a stream with everything that a stream can contain. */
export const streamRequest = (name: DialectName): Record<string, unknown> =>
  minimalRequest(name, {
    stream: true,
    ...(name === 'chat' ? { stream_options: { include_usage: true } } : {}),
  })

export function isFailure(answer: ModelAnswer | UpstreamFailure): answer is UpstreamFailure {
  return !('parts' in answer)
}

/** Reads an answer; throws if the codec returns a failure. */
export function decodeAnswer(name: DialectName, value: unknown): ModelAnswer {
  const answer = dialectOf(name).codec.decodeAnswer(value, parse(name, minimalRequest(name)))
  if (isFailure(answer)) throw new Error(`not an answer: ${answer.detail}`)
  return answer
}

export function encodeAnswer(name: DialectName, answer: ModelAnswer, model = 'm'): Record<string, unknown> {
  const client = clientOf(name, minimalRequest(name, { model }))
  return JSON.parse(JSON.stringify(dialectOf(name).codec.encodeAnswer(answer, client)))
}

export interface ReadStream {
  parts: StreamPart[]
  finished: boolean
  failure: UpstreamFailure | undefined
}

/** Reads a whole stream, split into events by a reader that follows the SSE specification. */
export function decodeStream(name: DialectName, text: string): ReadStream {
  const parts: StreamPart[] = []
  const decoder: StreamDecoder = dialectOf(name).codec.decodeStream(
    (part) => parts.push(part),
    parse(name, streamRequest(name)),
  )
  for (const { event, data } of specEvents(text)) {
    if (decoder.done || decoder.failure !== undefined) break
    decoder.event(event, data)
  }
  if (decoder.failure === undefined) decoder.end()
  return { parts, finished: decoder.finished, failure: decoder.failure }
}

/** Writes a stream for the client that sent `body`. */
export function encodeStream(
  name: DialectName,
  parts: readonly StreamPart[],
  body: object = streamRequest(name),
): { text: string; losses: string[] } {
  const client = clientOf(name, body)
  const encoder: StreamEncoder = dialectOf(name).codec.encodeStream(client)
  let text = ''
  for (const part of parts) {
    encoder.part(part)
    text += encoder.take()
  }
  return { text, losses: client.losses.names }
}

/** The answer of stream parts; throws if they have no finish. */
export function folded(parts: readonly StreamPart[]): ModelAnswer {
  const answer = fold(parts)
  if (answer === undefined) throw new Error('the stream has no finish')
  return answer
}

/** A deep copy without `ext`, and without annotations that consist only of it. */
export function withoutExt<T>(value: T): T {
  const isBare = (item: unknown) => isRecord(item) && (item.type === 'other' || isBareAnnotation(item))
  return JSON.parse(
    JSON.stringify(value, (key, inner) => {
      if (key === 'ext') return undefined
      return Array.isArray(inner) ? inner.filter((item) => !isBare(item)) : inner
    }),
  )
}

const isBareAnnotation = (item: Record<string, unknown>) =>
  item.type === 'annotation' && isRecord(item.annotation) && item.annotation.type === 'other'
