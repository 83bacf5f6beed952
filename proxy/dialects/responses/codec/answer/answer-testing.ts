/** A client, and conversions between events and parts, for the tests of answers. */
import type { ClientView } from '../../../core/codec.ts'
import type { ModelAnswer, StreamPart } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { noLosses } from '../../../testing.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeStream } from './encode-stream.ts'

export function requestFor(body: object = {}): ParsedRequest {
  return {
    head: {
      model: 'alias',
      stream: true,
      choices: 1,
      wantsStreamUsage: false,
      input: { textBytes: 0, images: 0, audioBytes: 0, fileBytes: 0, tools: 0 },
    },
    body: Buffer.from(JSON.stringify({ model: 'alias', input: 'hi', ...body })),
    headers: {},
  }
}

/** Seals a carrier as its JSON. */
export function clientFor(body: object = {}): ClientView {
  return {
    request: { source: 'responses', model: 'alias', stream: true, turns: [], tools: [] },
    parsed: requestFor(body),
    id: 'X',
    created: 1700,
    inputTokens: 9,
    envelopes: { seal: (carrier) => `slc1.${carrier.kind}.${carrier.value}`, open: () => 'foreign' },
    losses: noLosses('responses'),
  }
}

interface Decoded {
  parts: StreamPart[]
  decoder: ReturnType<typeof decodeStream>
}

/** Decodes events, given as objects, without `event:` lines. */
export function decodeEvents(events: readonly object[]): Decoded {
  return decodeData(events.map((event) => JSON.stringify(event)))
}

export function decodeData(data: readonly string[]): Decoded {
  const parts: StreamPart[] = []
  const decoder = decodeStream((part) => parts.push(part), requestFor())
  for (const text of data) decoder.event('', text)
  decoder.end()
  return { parts, decoder }
}

export function encodeParts(parts: readonly StreamPart[], client = clientFor()): string {
  const encoder = encodeStream(client)
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
