/** Reads embeddings requests. It checks the fields that the gateway uses; the upstream checks the others. */
import { GatewayError } from '../../errors.ts'
import { parseJsonObject } from '../core/json/body.ts'
import { BodyValue } from '../core/json/body-value.ts'
import { listAt, stringAt } from '../core/json/checks.ts'
import { isBoolean, isPositiveInteger, readModel, readOptional, refusal } from '../core/json/fields.ts'
import { type ModelSpan, modelSpan } from '../core/json/model-splice.ts'
import type { Fields } from '../core/json/value.ts'
import { type InputFields, weighInput } from '../core/json/weigh.ts'
import type { JsonLimits, ParsedRequest, RequestHead } from '../core/request.ts'

type Encoding = 'float' | 'base64'

/** The answer that a request requires. */
export interface Wanted {
  /** The number of vectors: one for each input. */
  count: number
  encoding: Encoding
  /** The client requests another type than float32, which only it and the upstream understand. */
  ownNumbers: boolean
}

export interface EmbeddingsOwn extends ModelSpan {
  wanted: Wanted
}

/** Fields of some upstreams that choose the type of numbers or their byte order. */
const NUMBER_FIELDS = ['output_dtype', 'embed_dtype', 'endianness']
/** Top-level keys that the gateway uses. */
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

/** Throws GatewayError naming the field. The upstream checks whether a text is empty or too long. */
export function parseRequest(body: Buffer, limits: JsonLimits): ParsedRequest<EmbeddingsOwn> {
  const parsed = parseJsonObject(body, limits, READ_KEYS)
  const { value } = parsed
  const model = readModel(value.model)
  const tokens = checkInput(value.input)
  readOptional(value, 'encoding_format', isEncoding, 'float or base64')
  readOptional(value, 'dimensions', isPositiveInteger, 'a positive integer')
  if (readOptional(value, 'stream', isBoolean, 'true or false') === true) {
    throw new GatewayError(
      'unsupported_parameter',
      'stream is not supported: embeddings are never streamed.',
      {
        param: 'stream',
      },
    )
  }

  const head: RequestHead = {
    model,
    stream: false,
    maxOutputTokens: 0,
    choices: 1,
    wantsStreamUsage: false,
    input: { ...weighInput(parsed, INPUT_FIELDS), ...(tokens !== undefined && { tokens }) },
  }
  const own = { ...modelSpan(parsed.members), wanted: wantedBy(value) }
  return { head, body, value: new BodyValue(body, value), headers: {}, own }
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

/** A text, a list of texts, of tokens or of token lists, all of the same kind. Returns the number of tokens. */
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

/** Returns the number of tokens. There may be millions. */
function checkTokens(tokens: unknown[], path: string): number {
  const bad = tokens.findIndex((token) => !Number.isSafeInteger(token) || Number(token) < 0)
  if (bad >= 0) throw refusal(`${path}[${bad}]`, 'must be a token: an integer, zero or more')
  return tokens.length
}

function isEncoding(value: unknown): value is Encoding {
  return ENCODINGS.includes(value)
}
