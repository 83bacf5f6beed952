/**
 * A conversion in another thread, for a body that takes long: that thread parses, decodes and encodes it, and returns the
 * bytes for the upstream with the little that reading the answer needs. All of it is data that passes between threads.
 */
import type { ApiName } from '../../../../contract/apis.ts'
import type { ClientView } from '../codec.ts'
import type { ClientApi, Dialect } from '../dialect.ts'
import { MARK } from '../hub/envelope.ts'
import { type ToolName, ToolNames } from '../hub/tool-names.ts'
import type { Fields } from '../json/value.ts'
import type { Envelopes, ModelRequest } from '../neutral/types.ts'
import type { ParsedRequest } from '../request.ts'
import { type Converted, convert, type HubTarget, hubLane, outlineOf } from './hub.ts'
import type { Lane } from './lane.ts'

export interface ApartTarget extends Omit<HubTarget, 'upstream'> {
  api: ApiName
}

export interface Apart extends Omit<Converted, 'body' | 'answer'> {
  body: Uint8Array
  /** Of AnswerRules. */
  answer: { tools?: ToolName[]; restores: boolean; stop: string[] }
  outline: ModelRequest
  echo?: Fields
}

/** The dialects of a conversion. */
interface Sides {
  client: ClientApi
  upstream: Dialect
}

/** Envelopes that the thread with the keys has opened, by their texts. */
export type Opened = ReadonlyMap<string, ReturnType<Envelopes['open']>>

/** What stands in the way of a conversion: envelopes, which only the thread with the keys opens. */
export interface Sealed {
  sealed: string[]
}

/** Throws GatewayError like `convert`. */
export function convertApart(
  sides: Sides,
  parsed: ParsedRequest,
  target: ApartTarget,
  opened: Opened,
): Apart | Sealed {
  const sealed = new Set<string>()
  const envelopes: Envelopes = {
    seal: () => {
      throw new TypeError('nothing is sealed in a request')
    },
    open(text) {
      if (!text.startsWith(MARK)) return 'foreign'
      const known = opened.get(text)
      if (known === undefined) sealed.add(text)
      return known ?? 'broken'
    },
  }
  let converted: Apart
  try {
    converted = convertWith(sides, parsed, target, envelopes)
  } catch (error) {
    if (sealed.size > 0) return { sealed: [...sealed] }
    throw error
  }
  return sealed.size > 0 ? { sealed: [...sealed] } : converted
}

function convertWith(
  { client, upstream }: Sides,
  parsed: ParsedRequest,
  target: ApartTarget,
  envelopes: Envelopes,
): Apart {
  const codec = codecOf(client)
  const request = codec.decodeRequest(parsed, envelopes)
  const { answer, ...converted } = convert({ codec, lossNames: client.lossNames }, request, {
    ...target,
    upstream,
  })
  const { names, ...rules } = answer
  const echo = codec.echo?.(parsed)
  return {
    ...converted,
    answer: { ...rules, ...(names && { tools: names.tools }) },
    outline: outlineOf(request),
    ...(echo && { echo }),
  }
}

/** The lane of a conversion that another thread has made. */
export function apartLane(
  { client, upstream }: Sides,
  about: Omit<ClientView, 'losses' | 'request' | 'echo'>,
  target: ApartTarget,
  { outline, echo, body, answer, ...converted }: Apart,
): Lane {
  const { tools, ...rules } = answer
  const { conversation } = upstream
  const names = tools && conversation && new ToolNames(conversation.tools, tools)
  return hubLane(
    { codec: codecOf(client), lossNames: client.lossNames },
    { ...about, request: outline, ...(echo && { echo }) },
    { ...target, upstream },
    {
      ...converted,
      body: Buffer.from(body.buffer, body.byteOffset, body.byteLength),
      answer: { ...rules, ...(names && { names }) },
    },
  )
}

function codecOf({ codec }: ClientApi) {
  if (codec === undefined) throw new TypeError('this request is never converted')
  return codec
}
