/**
 * Reads lists of embeddings. The bytes pass as they are, unless the vectors are not in the order of the inputs or not in
 * the encoding that the client requested: many upstreams support only one.
 */
import { type Usage, zeroUsage } from '../../../contract/usage.ts'
import { present } from '../../../kit/present.ts'
import type { UpstreamFailure } from '../../errors.ts'
import type { Answer } from '../core/byte-lane.ts'
import { errorInAnswer } from '../core/errors/read.ts'
import { badAnswer } from '../core/errors/unreadable.ts'
import { isRecord, tryParse, unlessTooDeep } from '../core/json/value.ts'
import { count } from '../core/neutral/token-count.ts'
import type { ParsedRequest } from '../core/request.ts'
import type { EmbeddingsOwn, Wanted } from './request.ts'
import { decode, encode, exactly, isEncoded, isNumbers } from './vectors.ts'
import type * as wire from './wire.ts'

type Vector = number[] | string

/** An inconsistent answer is a failure, because a vector of another input is worse than none. */
export function readAnswer(body: Buffer, request: ParsedRequest<EmbeddingsOwn>): Answer | UpstreamFailure {
  const value = tryParse(body.toString('utf8'))
  if (isRecord(value) && value.error) return errorInAnswer(value, request)
  const answer: wire.Answer = isRecord(value) ? value : {}
  if (!Array.isArray(answer.data)) return badAnswer('no_answer')
  const { wanted } = request.own
  const given = answer.data.filter(isRecord)
  if (answer.data.length !== wanted.count || given.length !== wanted.count) return badAnswer('wrong_count')
  const entries = inOrder(given)
  if (entries === undefined) return badAnswer('wrong_indexes')
  const vectors = entries.map(({ embedding }) => vectorAs(wanted, embedding))
  if (!areAll(vectors)) return badAnswer('no_vectors')

  const isUnchanged = entries.every((entry, i) => entry === given[i] && entry.embedding === vectors[i])
  const bytes = isUnchanged ? body : write(answer, entries, vectors)
  if (bytes === undefined) return badAnswer('unwritable_answer')
  return { body: bytes, ...present({ usage: readUsage(answer.usage) }), delivered: { deltas: 0, bytes: 0 } }
}

/**
 * Sorts the entries by `index`, or keeps their order if none has one. Undefined if the input of an entry is unclear.
 * Upstreams that use protocol buffers leave out an index of 0.
 */
function inOrder(entries: wire.Entry[]): wire.Entry[] | undefined {
  if (entries.every(({ index }) => index === undefined || index === null)) return entries
  const places = new Map<unknown, wire.Entry>(entries.map((entry) => [entry.index ?? 0, entry]))
  const sorted = entries.map((_, i) => places.get(i)).filter((entry) => entry !== undefined)
  return sorted.length === entries.length ? sorted : undefined
}

/** The vector in the encoding that the client requested, unconverted if possible. Undefined if `value` is not a vector. */
function vectorAs({ encoding, ownNumbers }: Wanted, value: unknown): Vector | undefined {
  if (isNumbers(value)) return encoding === 'float' || ownNumbers ? value : encode(value)
  if (typeof value !== 'string') return undefined
  if (ownNumbers) return value === '' ? undefined : value
  if (encoding === 'float') return decode(value)
  return isEncoded(value) ? value : undefined
}

function areAll(vectors: (Vector | undefined)[]): vectors is Vector[] {
  return !vectors.includes(undefined)
}

/** Undefined if the rest of the answer is too deep for JSON.stringify, or the result too long for a string. */
function write(answer: wire.Answer, entries: wire.Entry[], vectors: Vector[]): Buffer | undefined {
  const data = entries.map((entry, index) => {
    const vector = vectors[index] ?? ''
    const embedding = typeof vector === 'string' ? vector : exactly(vector)
    return { ...entry, ...({ index, embedding } satisfies wire.Rewritten) }
  })
  return unlessTooDeep(() => Buffer.from(JSON.stringify({ ...answer, ...({ data } satisfies wire.Answer) })))
}

/** Some upstreams send only the total, which equals the input: there is no output. */
function readUsage(value: unknown): Usage | undefined {
  const { prompt_tokens, total_tokens }: wire.Usage = isRecord(value) ? value : {}
  const input = count(prompt_tokens) ?? count(total_tokens)
  return input === undefined ? undefined : { ...zeroUsage(), input }
}
