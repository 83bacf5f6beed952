/** Reads chat completion requests and splices the gateway's edits into their bytes. */
import { GatewayError } from '../../errors.ts'
import type { JsonLimits, ParsedRequest, RequestEdits, RequestHead } from '../dialect.ts'
import { parseJsonObject } from '../json/body.ts'
import { type Member, scanObject } from '../json/scan.ts'
import { isRecord, tryParse } from '../json/value.ts'
import { weighInput } from './input.ts'

/** Top-level keys on which the gateway acts. */
const READ_KEYS: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'service_tier',
  'tools',
])
const MAX_MODEL_LENGTH = 256
const MAX_CHOICES = 128
const MAX_OUTPUT_TOKENS = 10_000_000
const OUTPUT_RULE = `an integer from 1 to ${MAX_OUTPUT_TOKENS}`
/** Fields that say what a message without content says. */
const INSTEAD_OF_CONTENT = [
  'tool_calls',
  'function_call',
  'audio',
  'refusal',
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'thinking_blocks',
]
/** A body that was parsed is within its limits. */
const NO_LIMITS: JsonLimits = { maxDepth: Infinity, maxKeys: Infinity }

interface Span {
  start: number
  end: number
}

/** Bytes that give way to a text. */
interface Cut extends Span {
  text: string
}

/** Where the values of `model` and `stream_options` stand. */
interface SplicePoints {
  model: Span | undefined
  options: Span | undefined
}

/** What the scan of a request found, so that it is not scanned again for every attempt. */
const SPLICE_POINTS = new WeakMap<ParsedRequest, SplicePoints>()

/** Checks what the gateway reads and leaves the rest to the upstream. Throws GatewayError naming the field. */
export function parseRequest(body: Buffer, limits: JsonLimits): ParsedRequest {
  const parsed = parseJsonObject(body, limits, READ_KEYS)
  const { value } = parsed
  const model = readModel(value.model)
  checkMessages(value.messages)
  const stream = readOptional(value, 'stream', isBoolean, 'true or false') ?? false
  const streamOptions = readOptional(value, 'stream_options', isRecord, 'an object')
  if (streamOptions !== undefined && !stream) {
    throw refusal('stream_options', 'is only allowed when stream is true')
  }
  const includeUsage = streamOptions?.include_usage ?? false
  if (!isBoolean(includeUsage)) throw refusal('stream_options.include_usage', 'must be true or false')
  // Some upstreams know only one of the two, so the larger one is the limit that surely holds.
  const limitsGiven = ['max_tokens', 'max_completion_tokens']
    .map((field) => readOptional(value, field, isOutputLimit, OUTPUT_RULE))
    .filter((limit) => limit !== undefined)
  const choices = readOptional(value, 'n', isChoiceCount, `an integer from 1 to ${MAX_CHOICES}`) ?? 1
  const tier = readOptional(value, 'service_tier', isString, 'a string')
  readOptional(value, 'tools', Array.isArray, 'an array')

  const head: RequestHead = {
    model,
    stream,
    ...(limitsGiven.length > 0 && { maxOutputTokens: Math.max(...limitsGiven) }),
    choices,
    ...(tier !== undefined && !['', 'auto', 'default'].includes(tier) && { tier }),
    wantsStreamUsage: includeUsage,
    input: weighInput(parsed),
  }
  const request = { head, body }
  SPLICE_POINTS.set(request, splicePoints(parsed.members))
  return request
}

/**
 * The request's bytes with another model name and, where asked for, the option that makes a stream report usage; the
 * body itself when both are there already.
 */
export function splice(request: ParsedRequest, edits: RequestEdits): Buffer {
  const { body, head } = request
  const { model, options } = SPLICE_POINTS.get(request) ?? splicePoints(scanObject(body, NO_LIMITS))
  if (model === undefined) throw new TypeError('the request has no model')
  const cuts: Cut[] = []
  if (edits.model !== head.model) cuts.push({ ...model, text: JSON.stringify(edits.model) })
  if (edits.askStreamUsage && head.stream && !asksUsagePlainly(request, options)) {
    if (options === undefined) {
      const inside = body.indexOf('{') + 1
      cuts.push({ start: inside, end: inside, text: '"stream_options":{"include_usage":true},' })
    } else {
      const own = tryParse(body.toString('utf8', options.start, options.end))
      cuts.push({ ...options, text: JSON.stringify({ ...(isRecord(own) && own), include_usage: true }) })
    }
  }
  if (cuts.length === 0) return body
  cuts.sort((a, b) => a.start - b.start)
  return cut(body, cuts)
}

/** True when the client asks for usage, and no upstream can read its options in another way. */
function asksUsagePlainly({ body, head }: ParsedRequest, options: Span | undefined): boolean {
  if (!head.wantsStreamUsage || options === undefined) return false
  const members = scanObject(body.subarray(options.start, options.end), NO_LIMITS)
  return members.filter((m) => JSON.parse(`"${m.rawKey}"`) === 'include_usage').length === 1
}

function splicePoints(members: Member[]): SplicePoints {
  const span = (key: string) => {
    const member = members.find((m) => m.rawKey === key)
    return member && { start: member.start, end: member.end }
  }
  return { model: span('model'), options: span('stream_options') }
}

function cut(body: Buffer, cuts: Cut[]): Buffer {
  const pieces: Buffer[] = []
  let from = 0
  for (const { start, end, text } of cuts) {
    pieces.push(body.subarray(from, start), Buffer.from(text))
    from = end
  }
  return Buffer.concat([...pieces, body.subarray(from)])
}

function readModel(model: unknown): string {
  if (typeof model !== 'string' || model === '') throw refusal('model', 'must be a non-empty string')
  if (model.length > MAX_MODEL_LENGTH) {
    throw refusal('model', `must have at most ${MAX_MODEL_LENGTH} characters`)
  }
  if (/\p{Cc}/u.test(model) || !model.isWellFormed()) {
    throw refusal('model', 'must not contain control characters or broken Unicode')
  }
  return model
}

function checkMessages(messages: unknown): void {
  if (!Array.isArray(messages) || messages.length === 0)
    throw refusal('messages', 'must be a non-empty array')
  messages.forEach((message: unknown, i) => {
    const path = `messages[${i}]`
    if (!isRecord(message)) throw refusal(path, 'must be an object')
    if (typeof message.role !== 'string') throw refusal(`${path}.role`, 'must be a string')
    checkContent(message, `${path}.content`)
  })
}

function checkContent(message: Record<string, unknown>, path: string): void {
  const { content } = message
  if (typeof content === 'string') return
  if (content === null && message.role === 'function') return
  if (content === undefined || content === null) {
    if (INSTEAD_OF_CONTENT.some((field) => saysSomething(message[field]))) return
    throw refusal(path, `may be absent or null only beside ${INSTEAD_OF_CONTENT.join(', ')}`)
  }
  if (!Array.isArray(content)) throw refusal(path, 'must be a string or an array of parts')
  content.forEach((part: unknown, i) => {
    if (!isRecord(part)) throw refusal(`${path}[${i}]`, 'must be an object')
    if (typeof part.type !== 'string') throw refusal(`${path}[${i}].type`, 'must be a string')
  })
}

function saysSomething(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
}

function readOptional<T>(
  value: Record<string, unknown>,
  field: string,
  accepts: (value: unknown) => value is T,
  rule: string,
): T | undefined {
  const given = value[field]
  if (given === undefined || given === null) return undefined
  if (!accepts(given)) throw refusal(field, `must be ${rule}, or null`)
  return given
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean'
}

function isString(value: unknown): value is string {
  return typeof value === 'string'
}

function isPositiveInteger(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0
}

function isOutputLimit(value: unknown): value is number {
  return isPositiveInteger(value) && value <= MAX_OUTPUT_TOKENS
}

function isChoiceCount(value: unknown): value is number {
  return isPositiveInteger(value) && value <= MAX_CHOICES
}

function refusal(param: string, problem: string): GatewayError {
  return new GatewayError('invalid_request', `${param} ${problem}.`, { param })
}
