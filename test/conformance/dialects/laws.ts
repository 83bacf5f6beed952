/** The laws that every dialect keeps, each a function that throws where one is broken. */
import { expect } from 'vitest'
import type { DialectName } from '../../../contract/endpoints.ts'
import { totalInput } from '../../../contract/usage.ts'
import { isRecord, tryParse } from '../../../proxy/dialects/core/json/value.ts'
import { addExtLosses, Losses } from '../../../proxy/dialects/core/neutral/losses.ts'
import type { ModelAnswer, ModelRequest, StreamPart } from '../../../proxy/dialects/core/neutral/types.ts'
import { GatewayError } from '../../../proxy/errors.ts'
import {
  allFeatures,
  decodeAnswer,
  decodeRequest,
  decodeStream,
  dialectOf,
  encodeAnswer,
  encodeRequest,
  encodeStream,
  folded,
  laneOf,
  leastRequest,
  parse,
  streamRequest,
  withoutExt,
} from './codecs.ts'
import { silent } from './leaves.ts'
import { sumStream } from './loose.ts'
import { readStrictly } from './strict.ts'
import type { UsageAsked } from './strict-chat.ts'
import { type View, viewFor, viewOf } from './views.ts'

type Json = Record<string, unknown>

/** Usage is asked for by the gateway where the client did not: that alone is not the client's. */
const SILENT = { streamUsage: false }

/**
 * A request of the dialect in the neutral form is complete: it comes back with everything that it said, or `ext` keeps
 * the rest by its name, or the loss is told.
 */
export function completenessOfRequest(dialect: DialectName, body: Json): void {
  const request = decodeRequest(dialect, body)
  const before = structuredClone(request)
  const written = encodedOrRefused(request, dialect)
  expect(request).toEqual(before)
  if (written === undefined) return
  const { body: again, losses } = written
  expect(silent(body, again, [...losses, ...keptNames(request)])).toEqual([])
}

/** Undefined for a request that is refused, naming a field. */
function encodedOrRefused(request: ModelRequest, dialect: DialectName) {
  try {
    return encodeRequest(request, dialect, allFeatures(dialect, SILENT))
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    expect(error.param).toEqual(expect.any(String))
    return undefined
  }
}

/** The fields of a request that `ext` keeps, by the names that losses have. */
function keptNames(request: ModelRequest): string[] {
  const kept = new Losses({})
  // No request is of this dialect, so that all are told.
  addExtLosses(request, 'images', kept)
  return kept.names
}

/** An answer comes back with everything that the neutral form types. */
export function completenessOfAnswer(dialect: DialectName, answer: Json): void {
  const bare = decodeAnswer(dialect, answer)
  const expected = viewOf(dialect, answer)
  expect(comparable(viewOf(dialect, encodeAnswer(dialect, bare)), expected)).toEqual(expected)
}

export function completenessOfStream(dialect: DialectName, text: string): void {
  const { parts, answer } = readWhole(dialect, text)
  const again = readWhole(dialect, encodeStream(dialect, parts).text)
  expect(said(again.answer)).toMatchObject(said(answer) as object)
}

/** A copy in which the arguments of a call without any are the empty object, as clients read them. */
function settled(answer: ModelAnswer): ModelAnswer {
  return JSON.parse(
    JSON.stringify(answer, (_key, value) =>
      isRecord(value) && value.type === 'tool-call' && value.input === '' ? { ...value, input: '{}' } : value,
    ),
  )
}

/** What an answer says, without ids, an upstream's own words and whatever else may differ in two that say the same. */
export function said(answer: ModelAnswer): unknown {
  const { id: _id, created: _created, model: _model, parts, finish, ...rest } = settled(withoutExt(answer))
  const { raw: _raw, ...reason } = finish
  const nameless = parts.map((part) => {
    if (part.type !== 'reasoning' || part.carrier === undefined) return part
    const { kind, value } = part.carrier
    return {
      ...part,
      carrier: { ...part.carrier, id: undefined, value: kind === 'details' ? tryParse(value) : value },
    }
  })
  return { ...rest, finish: reason, parts: nameless }
}

function readWhole(dialect: DialectName, text: string): { parts: StreamPart[]; answer: ModelAnswer } {
  const { parts, finished, failure } = decodeStream(dialect, text)
  expect({ finished, failure }).toEqual({ finished: true, failure: undefined })
  return { parts, answer: folded(parts) }
}

/** Stream parts keep the order that their types promise. */
export function isWellFormed(parts: readonly StreamPart[]): void {
  const open = new Map<string, string>()
  const seen = new Set<string>()
  for (const [index, part] of parts.entries()) {
    expect(part.type === 'start').toBe(index === 0)
    if (part.type === 'finish') {
      expect(index).toBe(parts.length - 1)
      expect([...open]).toEqual([])
    }
    if (!('id' in part) || part.id === undefined || part.type === 'start') continue
    const { id, type } = part
    if (type === 'whole' || type.endsWith('-start')) {
      expect(seen.has(id), `${id} opens twice`).toBe(false)
      seen.add(id)
      const kind = type.replace(/-start$/, '')
      if (type === 'whole') continue
      if (kind !== 'tool-call')
        expect([...open.values()].filter((other) => other !== 'tool-call')).toEqual([])
      open.set(id, kind)
      continue
    }
    const kind = type === 'annotation' ? 'text' : type.replace(/-(delta|end)$/, '')
    expect(open.get(id), `${type} of ${id}`).toBe(kind)
    if (type.endsWith('-end')) open.delete(id)
  }
}

/** What a client reads of a stream: told by the strict reader of its dialect, or by how the stream ended. */
export interface Relayed {
  text: string
  finished: boolean
  failed: boolean
  losses: string[]
}

/** A stream of an upstream on its way to a client, in these pieces. */
export function relay(
  client: DialectName,
  upstream: DialectName,
  pieces: readonly Buffer[],
  body: Json = streamRequest(client),
): Relayed {
  const lane = laneOf(client, body, upstream)
  const observer = lane.observe(16 * 1024 * 1024)
  const out: Buffer[] = []
  for (const piece of pieces) {
    const bytes = observer.push(piece)
    if (bytes !== undefined) out.push(bytes)
    if (observer.failure !== undefined || observer.done) break
  }
  const rest = observer.flush()
  if (rest !== undefined) out.push(rest)
  return {
    text: Buffer.concat(out).toString(),
    finished: observer.finished,
    failed: observer.failure !== undefined,
    losses: lane.losses.names,
  }
}

/** The client of another dialect reads in a strict stream what the upstream's stream said. */
export function streamSays(client: DialectName, upstream: DialectName, text: string): View {
  const { answer, end } = sumStream(upstream, text)
  expect(end).toBe('complete')
  const relayed = relay(client, upstream, [Buffer.from(text)])
  expect(relayed).toMatchObject({ finished: true, failed: false })
  const expected = viewFor(viewOf(upstream, answer), upstream, client)
  const read = readBack(client, upstream, relayed.text, toldUsage(expected))
  expect(comparable(viewOf(client, read), expected)).toEqual(expected)
  return expected
}

/** What a client reads of a stream. Between equal dialects the upstream's own events pass, strictly right or not. */
export function readBack(
  client: DialectName,
  upstream: DialectName,
  text: string,
  usage?: UsageAsked,
): unknown {
  return client === upstream ? sumStream(client, text).answer : readStrictly(client, text, usage)
}

export function answerSays(
  client: DialectName,
  upstream: DialectName,
  answer: Json,
): { view: View; losses: string[] } {
  const lane = laneOf(client, leastRequest(client), upstream)
  const read = lane.readAnswer(Buffer.from(JSON.stringify(answer)), false)
  if (!('body' in read)) throw new Error(`not an answer: ${read.detail}`)
  const expected = viewFor(viewOf(upstream, answer), upstream, client)
  expect(comparable(viewOf(client, JSON.parse(read.body.toString())), expected)).toEqual(expected)

  // The same answer to a client who asked for a stream.
  const asStream = laneOf(client, streamRequest(client), upstream).readAnswer(
    Buffer.from(JSON.stringify(answer)),
    true,
  )
  if (!('body' in asStream)) throw new Error(`not an answer: ${asStream.detail}`)
  const text = asStream.body.toString()
  const again = readBack(client, upstream, text, toldUsage(expected))
  expect(comparable(viewOf(client, again), expected)).toEqual(expected)
  return { view: expected, losses: lane.losses.names }
}

export const toldUsage = (view: View) => (view.usage === undefined ? 'unknown' : 'yes')

/**
 * Without what the upstream left open: where it did not report usage, the client reads an estimate, zeros or nothing;
 * calls without ids (legacy ones) get ids.
 */
export function comparable(view: View, expected: View): View {
  const calls = view.calls.map((call, i) => (expected.calls[i]?.id === '' ? { ...call, id: '' } : call))
  return { ...view, calls, usage: expected.usage && view.usage }
}

/** A stream that broke is never presented as complete, and nothing of the upstream's words gets out. */
export function isNotFinished(client: DialectName, upstream: DialectName, text: string): Relayed {
  const relayed = relay(client, upstream, [Buffer.from(text)])
  expect(relayed.finished).toBe(false)
  expect(() => readStrictly(client, relayed.text)).toThrow()
  expect(relayed.text).not.toContain('secret-host')
  return relayed
}

/** The byte lane hands on the bytes that came, in whatever pieces; what it withholds is left out of `expected`. */
export function bytesPass(dialect: DialectName, pieces: readonly Buffer[], expected: string): void {
  // Line ends behind the last event are nobody's.
  expect(passed(dialect, pieces).trimEnd()).toBe(expected.trimEnd())
}

/** What the byte lane hands on of a stream. */
export function passed(dialect: DialectName, pieces: readonly Buffer[]): string {
  const observer = dialectOf(dialect).byteLane.observe(parse(dialect, streamRequest(dialect)), 1 << 24, true)
  const out: Buffer[] = []
  for (const piece of pieces) {
    const bytes = observer.push(piece)
    if (bytes !== undefined) out.push(bytes)
    if (observer.failure !== undefined || observer.done) break
  }
  const rest = observer.flush()
  if (rest !== undefined) out.push(rest)
  return Buffer.concat(out).toString()
}

/** Observer and decoder read the same usage of a stream, and the view of its dialect follows from it. */
export function usageAgrees(dialect: DialectName, text: string): void {
  const observer = dialectOf(dialect).byteLane.observe(parse(dialect, streamRequest(dialect)), 1 << 24, true)
  observer.push(Buffer.from(text))
  observer.flush()
  const { usage } = readWhole(dialect, text).answer
  expect(observer.usage).toEqual(usage)
  const told = viewOf(dialect, sumStream(dialect, text).answer).usage
  if (usage === undefined) return
  expect({
    prompt: totalInput(usage),
    cached: usage.cachedInput,
    written: usage.cacheWrite + usage.cacheWriteLong,
    output: usage.output,
    reasoning: usage.reasoning,
  }).toEqual(told)
}

/** True for the JSON of an error, or of an answer that is not there yet. */
export const isErrorBody = (answer: Json): boolean =>
  isRecord(answer.error) ||
  answer.type === 'error' ||
  ['failed', 'queued', 'in_progress'].includes(String(answer.status))
