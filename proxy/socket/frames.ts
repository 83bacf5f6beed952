/**
 * The messages of a client (https://platform.openai.com/docs/guides/websocket-mode). response.create has the fields of
 * POST /v1/responses and three of its own, which are cut out; the bytes of all others stay unchanged.
 */
import { QUOTE } from '../../kit/bytes.ts'
import { type JsonObject, parseJsonObject } from '../dialects/core/json/body.ts'
import { refusal } from '../dialects/core/json/fields.ts'
import { type Entry, JsonScanner, scanObject } from '../dialects/core/json/scanner.ts'
import { isRecord } from '../dialects/core/json/value.ts'
import type { JsonLimits } from '../dialects/core/request.ts'
import { GatewayError } from '../errors.ts'

/** The name of a stream; undefined for the unnamed one. Calls of one stream run one after the other. */
export type StreamName = string | undefined

export interface CreateFrame {
  kind: 'create'
  stream: StreamName
  /** The body of the equal POST, with `stream: true`. */
  body: Buffer
  /** False: only prepare the conversation. */
  generate: boolean
  previous?: string
}

export type ClientFrame =
  | CreateFrame
  | { kind: 'steer'; stream: StreamName; previous: unknown; input: unknown }
  | { kind: 'ignored' }
  | { kind: 'refused'; stream: StreamName; error: GatewayError }

/** Keys of the message that are not part of the request. `stream` has no effect on a socket, which always streams. */
const OWN_KEYS: ReadonlySet<string> = new Set(['type', 'stream_id', 'generate', 'stream'])
const STREAM_NAME = /^[A-Za-z0-9_.-]{1,256}$/
/** The longest name with its quotes. */
const MAX_QUOTED = 258
const STREAM_KEY = 'stream_id'
/** How far an unparsed message is searched for the name: searching costs more than refusing. */
const MAX_SEARCHED_BYTES = 4 * 1_048_576
/** The answer to a steer returns its input. */
const MAX_STEER_BYTES = 1_048_576

/** Reads a text message, valid UTF-8; never throws. */
export function readFrame(bytes: Buffer, limits: JsonLimits): ClientFrame {
  let frame: JsonObject
  try {
    frame = parseJsonObject(bytes, limits, OWN_KEYS)
  } catch (error) {
    const refusal = ofFrame(GatewayError.from(error), tooMuch(bytes, limits) ? undefined : 'type')
    return { kind: 'refused', stream: findStream(bytes), error: refusal }
  }
  let stream: StreamName
  try {
    stream = readStream(frame.value.stream_id)
    return readTyped(frame, bytes, stream)
  } catch (error) {
    return { kind: 'refused', stream, error: ofFrame(GatewayError.from(error), 'type') }
  }
}

function readTyped(frame: JsonObject, bytes: Buffer, stream: StreamName): ClientFrame {
  const { value } = frame
  switch (value.type) {
    case 'response.create': {
      const previous = value.previous_response_id
      return {
        kind: 'create',
        stream,
        body: requestOf(bytes, frame),
        generate: readGenerate(value),
        ...(typeof previous === 'string' && { previous }),
      }
    }
    case 'response.steer':
      if (bytes.length > MAX_STEER_BYTES)
        throw new GatewayError('request_too_large', `A steer may have at most ${MAX_STEER_BYTES} bytes.`)
      return { kind: 'steer', stream, previous: value.previous_response_id, input: value.input }
    // Codex confirms each answer that it has read.
    case 'response.processed':
      return { kind: 'ignored' }
    case 'response.append':
    case 'response.inject':
      throw refusal('type', `${value.type} is not supported; send response.create`)
    default:
      throw refusal('type', 'must be response.create')
  }
}

function readStream(id: unknown): StreamName {
  if (id === undefined || id === null) return undefined
  if (typeof id === 'string' && STREAM_NAME.test(id)) return id
  throw new GatewayError(
    'invalid_stream_id',
    'stream_id must have 1 to 256 letters, digits, underscores, dots or hyphens.',
    { param: 'stream_id' },
  )
}

function readGenerate({ generate, prompt_cache_options: cache }: Record<string, unknown>): boolean {
  if (generate !== undefined && generate !== null && typeof generate !== 'boolean')
    throw refusal('generate', 'must be true or false, or null')
  return generate !== false && !(isRecord(cache) && cache.prewarm === true)
}

const COMMA = Buffer.from(',')

/** The message without its own keys, and with `stream: true`. */
function requestOf(bytes: Buffer, { members }: JsonObject): Buffer {
  const pieces: Buffer[] = [Buffer.from('{')]
  let from = bytes.indexOf('{') + 1
  for (const { rawKey, end } of members) {
    if (!OWN_KEYS.has(rawKey)) pieces.push(bytes.subarray(from, end), COMMA)
    // Between a value and the next key, valid JSON has white space and one comma.
    from = bytes.indexOf(',', end) + 1
  }
  pieces.push(Buffer.from('"stream":true}'))
  return Buffer.concat(pieces)
}

/** Clients expect the error for a text that is not a message to name `type`. */
function ofFrame(error: GatewayError, param: 'type' | undefined): GatewayError {
  if (error.param !== undefined || error.code !== 'invalid_request') return error
  const message = error.message.replace('The body', 'The message')
  return new GatewayError('invalid_request', message, param === undefined ? {} : { param })
}

function tooMuch(bytes: Buffer, limits: JsonLimits): boolean {
  try {
    scanObject(bytes, limits)
    return false
  } catch {
    return true
  }
}

/**
 * The name of the stream of a message that is not parsed, so that the client knows what was refused: undefined where the
 * name is missing, repeated, malformed or late. Keeps nothing of the message, however deep it is and however many keys it
 * has.
 */
function findStream(bytes: Buffer): StreamName {
  const found: string[] = []
  const each = ({ keyStart, keyEnd, start, end }: Entry) => {
    if (keyEnd - keyStart !== STREAM_KEY.length || found.length > 1 || bytes[start] !== QUOTE) return
    if (bytes.toString('latin1', keyStart, keyEnd) !== STREAM_KEY) return
    found.push(end - start <= MAX_QUOTED ? bytes.toString('latin1', start + 1, end - 1) : '')
  }
  new JsonScanner({ each }).push(bytes.subarray(0, MAX_SEARCHED_BYTES))
  const [name = '', again] = found
  return again === undefined && STREAM_NAME.test(name) ? name : undefined
}
