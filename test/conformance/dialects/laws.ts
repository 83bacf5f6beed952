/** The laws of all dialects. Each is a function that throws if the law is broken. */
import { expect } from 'vitest'
import { totalInput } from '../../../contract/usage.ts'
import { isRecord, tryParse } from '../../../proxy/dialects/core/json/value.ts'
import { addExtLosses, Losses } from '../../../proxy/dialects/core/neutral/losses.ts'
import type { ModelAnswer, ModelRequest, StreamPart } from '../../../proxy/dialects/core/neutral/types.ts'
import type { SourcedRequest } from '../../../proxy/dialects/testing.ts'
import { GatewayError } from '../../../proxy/errors.ts'
import {
  allFeatures,
  type DialectName,
  decodeAnswer,
  decodeRequest,
  decodeStream,
  dialectOf,
  encodeAnswer,
  encodeRequest,
  encodeStream,
  folded,
  laneOf,
  minimalRequest,
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

/** The field by which the gateway requests usage even if the client did not. */
const SILENT = { streamUsage: false }

/**
 * A request is complete in the neutral form: each field comes back, or `ext` has it under its name, or a loss reports it.
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

/** Undefined for a request that is refused with the name of a field. */
function encodedOrRefused(request: SourcedRequest, dialect: DialectName) {
  try {
    return encodeRequest(request, dialect, allFeatures(dialect, SILENT))
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    expect(error.param).toEqual(expect.any(String))
    return undefined
  }
}

/** The fields in `ext` of a request, by their names as losses. */
function keptNames(request: ModelRequest): string[] {
  const kept = new Losses({})
  // No request has this dialect, so all fields are losses.
  addExtLosses(request, 'images', kept)
  return kept.names
}

/** An answer comes back with all fields of the neutral form. */
export function completenessOfAnswer(dialect: DialectName, answer: Json): void {
  const bare = decodeAnswer(dialect, answer)
  const expected = viewOf(dialect, answer)
  expect(comparable(viewOf(dialect, encodeAnswer(dialect, bare)), expected)).toEqual(expected)
}

export function completenessOfStream(dialect: DialectName, text: string): void {
  const { parts, answer } = readWhole(dialect, text)
  const again = readWhole(dialect, encodeStream(dialect, parts).text)
  expect(contentOf(again.answer)).toMatchObject(contentOf(answer) as object)
}

/** A copy in which empty arguments are the empty object, as clients read them. */
function settled(answer: ModelAnswer): ModelAnswer {
  return JSON.parse(
    JSON.stringify(answer, (_key, value) =>
      isRecord(value) && value.type === 'tool-call' && value.input === '' ? { ...value, input: '{}' } : value,
    ),
  )
}

/** The content of an answer, without ids and other fields that may differ between equal answers. */
export function contentOf(answer: ModelAnswer): unknown {
  const { parts, finish, ...rest } = settled(withoutExt(answer))
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
    if (!('id' in part)) continue
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

/** A client's stream, and how it ended. */
export interface Relayed {
  text: string
  finished: boolean
  failed: boolean
  losses: string[]
}

/** Sends a stream of an upstream to a client, in these chunks. */
export function transmit(
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

/** A client of another dialect gets a valid stream with the content of the upstream's stream. */
export function streamSays(client: DialectName, upstream: DialectName, text: string): View {
  const { answer, end } = sumStream(upstream, text)
  expect(end).toBe('complete')
  const transmitted = transmit(client, upstream, [Buffer.from(text)])
  expect(transmitted).toMatchObject({ finished: true, failed: false })
  const expected = viewFor(viewOf(upstream, answer), upstream, client)
  const read = readBack(client, upstream, transmitted.text, expectedUsage(expected))
  expect(comparable(viewOf(client, read), expected)).toEqual(expected)
  return expected
}

/** The answer that a client reads in a stream. For equal dialects the upstream's events pass, valid or not. */
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
  const lane = laneOf(client, minimalRequest(client), upstream)
  const read = lane.readAnswer(Buffer.from(JSON.stringify(answer)), false)
  if (!('body' in read)) throw new Error(`not an answer: ${read.detail}`)
  const expected = viewFor(viewOf(upstream, answer), upstream, client)
  expect(comparable(viewOf(client, JSON.parse(read.body.toString())), expected)).toEqual(expected)

  // The same answer for a client that requested a stream.
  const asStream = laneOf(client, streamRequest(client), upstream).readAnswer(
    Buffer.from(JSON.stringify(answer)),
    true,
  )
  if (!('body' in asStream)) throw new Error(`not an answer: ${asStream.detail}`)
  const text = asStream.body.toString()
  const again = readBack(client, upstream, text, expectedUsage(expected))
  expect(comparable(viewOf(client, again), expected)).toEqual(expected)
  return { view: expected, losses: lane.losses.names }
}

export const expectedUsage = (view: View) => (view.usage === undefined ? 'unknown' : 'yes')

/**
 * Removes values that the upstream did not send: without its usage, the client gets an estimate, zeros or nothing; legacy
 * calls get ids.
 */
export function comparable(view: View, expected: View): View {
  const calls = view.calls.map((call, i) => (expected.calls[i]?.id === '' ? { ...call, id: '' } : call))
  return { ...view, calls, usage: expected.usage && view.usage }
}

/** A broken stream never looks complete and contains no error text of the upstream. */
export function isNotFinished(client: DialectName, upstream: DialectName, text: string): Relayed {
  const transmitted = transmit(client, upstream, [Buffer.from(text)])
  expect(transmitted.finished).toBe(false)
  expect(() => readStrictly(client, transmitted.text)).toThrow()
  expect(transmitted.text).not.toContain('secret-host')
  return transmitted
}

/** The byte lane passes the `expected` bytes, whatever the chunks are. */
export function bytesPass(dialect: DialectName, pieces: readonly Buffer[], expected: string): void {
  // Line ends after the last event do not matter.
  expect(passed(dialect, pieces).trimEnd()).toBe(expected.trimEnd())
}

/** The bytes of a stream that the byte lane passes. */
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

/** Observer and decoder read the same usage in a stream, and so does the view of its dialect. */
export function usageAgrees(dialect: DialectName, text: string): void {
  const observer = dialectOf(dialect).byteLane.observe(parse(dialect, streamRequest(dialect)), 1 << 24, true)
  observer.push(Buffer.from(text))
  observer.flush()
  const { usage } = readWhole(dialect, text).answer
  expect(observer.usage).toEqual(usage)
  const viewed = viewOf(dialect, sumStream(dialect, text).answer).usage
  if (usage === undefined) return
  expect({
    prompt: totalInput(usage),
    cached: usage.cachedInput,
    written: usage.cacheWrite + usage.cacheWriteLong,
    output: usage.output,
    reasoning: usage.reasoning,
  }).toEqual(viewed)
}

/** True for the JSON of an error or of an unfinished answer. */
export const isErrorBody = (answer: Json): boolean =>
  isRecord(answer.error) ||
  answer.type === 'error' ||
  ['failed', 'queued', 'in_progress'].includes(String(answer.status))
