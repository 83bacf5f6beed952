/** A client, and conversions between events and parts, for the tests of answers. */
import type { ClientView } from '../../../core/codec.ts'
import type { ModelAnswer, StreamPart } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { noLosses } from '../../../testing.ts'
import { parseRequest, type ResponsesOwn } from '../../request.ts'
import { echoOf } from './answer-echo.ts'
import { ResponsesDecoder } from './decode-stream.ts'
import { ResponsesEncoder } from './encode-stream.ts'

export function requestFor(fields: object = {}): ParsedRequest<ResponsesOwn> {
  const body = { model: 'alias', input: 'hi', stream: true, ...fields }
  return parseRequest(Buffer.from(JSON.stringify(body)), { maxDepth: 64, maxKeys: 1000 })
}

/** Seals a carrier as its JSON. */
export function clientFor(fields: object = {}): ClientView {
  const parsed = requestFor(fields)
  return {
    request: { model: 'alias', stream: true, turns: [], tools: [] },
    parsed,
    echo: echoOf(parsed),
    id: 'X',
    created: 1700,
    inputTokens: 9,
    envelopes: { seal: (carrier) => `slc1.${carrier.kind}.${carrier.value}`, open: () => 'foreign' },
    losses: noLosses('responses'),
  }
}

interface Decoded {
  parts: StreamPart[]
  decoder: ResponsesDecoder
}

/** Decodes events, given as objects, without `event:` lines. */
export function decodeEvents(events: readonly object[]): Decoded {
  return decodeData(events.map((event) => JSON.stringify(event)))
}

export function decodeData(data: readonly string[]): Decoded {
  const parts: StreamPart[] = []
  const decoder = new ResponsesDecoder((part) => parts.push(part), requestFor())
  for (const text of data) decoder.event('', text)
  decoder.end()
  return { parts, decoder }
}

export function encodeParts(parts: readonly StreamPart[], client = clientFor()): string {
  const encoder = new ResponsesEncoder(client)
  for (const part of parts) encoder.part(part)
  return encoder.take()
}

/** The data of each event of a stream. */
export function dataOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice('data: '.length))
}

/** An answer without fields that only this dialect has. */
export function withoutExt(answer: ModelAnswer): ModelAnswer {
  const plain = structuredClone(answer)
  strip(plain)
  return plain
}

function strip(node: unknown): void {
  if (typeof node !== 'object' || node === null) return
  if ('ext' in node) delete node.ext
  for (const value of Object.values(node)) strip(value)
}
