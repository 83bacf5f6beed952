/** Reads embeddings requests: checks what the gateway acts on and leaves the rest to the upstream. */
import { GatewayError } from '../../errors.ts'
import type { JsonLimits, ParsedRequest, RequestHead } from '../core/dialect.ts'
import { parseJsonObject } from '../core/json/body.ts'
import { listAt, stringAt } from '../core/json/checks.ts'
import { isBoolean, isPositiveInteger, readModel, readOptional, refusal } from '../core/json/fields.ts'
import { noteMembers } from '../core/json/model-splice.ts'
import type { Fields } from '../core/json/value.ts'
import { type InputFields, weighInput } from '../core/json/weigh.ts'

export type Encoding = 'float' | 'base64'

/** What the answer must be like. */
export interface Wanted {
  /** Vectors: one for each input. */
  count: number
  encoding: Encoding
  /** The numbers are asked for in another type than float32: only their upstream and their client understand them. */
  ownNumbers: boolean
}

/** Fields of some upstreams that choose another type of number, or the order of its bytes. */
const NUMBER_FIELDS = ['output_dtype', 'embed_dtype', 'endianness']
/** Top-level keys on which the gateway acts. */
const READ_KEYS: ReadonlySet<string> = new Set([
  'model',
  'input',
  'encoding_format',
  'dimensions',
  'stream',
  ...NUMBER_FIELDS,
])
const ENCODINGS: readonly unknown[] = ['float', 'base64']
export const MAX_INPUTS = 2048
const INPUT_FIELDS: InputFields = {
  conversation: ['input'],
  schemas: [],
  tools: [],
  labels: new Set(),
  weighWhole: () => false,
}

/** So that a request is not parsed again for its answer. */
const WANTED = new WeakMap<ParsedRequest, Wanted>()

/** Throws GatewayError naming the field. Whether a text may be empty, or how long it may be, is the upstream's matter. */
export function parseRequest(body: Buffer, limits: JsonLimits): ParsedRequest {
  const parsed = parseJsonObject(body, limits, READ_KEYS)
  const { value } = parsed
  const model = readModel(value.model)
  const tokens = checkInput(value.input)
  readOptional(value, 'encoding_format', isEncoding, 'float or base64')
  readOptional(value, 'dimensions', isPositiveInteger, 'a positive integer')
  if (readOptional(value, 'stream', isBoolean, 'true or false') === true) {
    throw new GatewayError('unsupported_parameter', 'stream is not supported: embeddings come as a whole.', {
      param: 'stream',
    })
  }

  const head: RequestHead = {
    model,
    stream: false,
    maxOutputTokens: 0,
    choices: 1,
    wantsStreamUsage: false,
    input: { ...weighInput(parsed, INPUT_FIELDS), ...(tokens !== undefined && { tokens }) },
  }
  const request: ParsedRequest = { head, body, headers: {} }
  noteMembers(request, parsed.members)
  WANTED.set(request, wantedBy(value))
  return request
}

/** What the answer to a request that passed parseRequest must be like. */
export function wantedOf(request: ParsedRequest): Wanted {
  return WANTED.get(request) ?? wantedBy(JSON.parse(request.body.toString('utf8')))
}

function wantedBy(value: Fields): Wanted {
  const { input, encoding_format } = value
  return {
    // A flat list of numbers is one input.
    count: Array.isArray(input) && typeof input[0] !== 'number' ? input.length : 1,
    encoding: encoding_format === 'base64' ? 'base64' : 'float',
    ownNumbers: NUMBER_FIELDS.some((field) => value[field] !== undefined && value[field] !== null),
  }
}

/** A text, texts, tokens, or lists of tokens: all of the kind of the first one. Gives the number of tokens. */
function checkInput(input: unknown): number | undefined {
  if (typeof input === 'string') return undefined
  if (!Array.isArray(input)) {
    throw refusal('input', 'must be a string, an array of strings, or an array of tokens or of token arrays')
  }
  if (input.length === 0) throw refusal('input', 'must not be empty')
  if (typeof input[0] === 'number') return checkTokens(input, 'input')
  if (input.length > MAX_INPUTS) throw refusal('input', `must have at most ${MAX_INPUTS} entries`)
  if (Array.isArray(input[0])) {
    const counts = input.map((tokens: unknown, i) =>
      checkTokens(listAt(tokens, `input[${i}]`), `input[${i}]`),
    )
    return counts.reduce((sum, n) => sum + n, 0)
  }
  for (const [i, text] of input.entries()) stringAt(text, `input[${i}]`)
  return undefined
}

/** Gives their number. There may be millions of them. */
function checkTokens(tokens: unknown[], path: string): number {
  const bad = tokens.findIndex((token) => !Number.isSafeInteger(token) || Number(token) < 0)
  if (bad >= 0) throw refusal(`${path}[${bad}]`, 'must be a token: an integer, zero or more')
  return tokens.length
}

function isEncoding(value: unknown): value is Encoding {
  return ENCODINGS.includes(value)
}
