/** Reads responses requests. It checks the fields that the gateway uses; the upstream checks the others. */
import type { HostedTool } from '../../../contract/usage.ts'
import { present } from '../../../kit/present.ts'
import { GatewayError } from '../../errors.ts'
import type { ChainPosition } from '../core/chains.ts'
import { parseJsonObject } from '../core/json/body.ts'
import { BodyValue } from '../core/json/body-value.ts'
import {
  checkRecords,
  isBoolean,
  isOutputLimit,
  isString,
  OUTPUT_RULE,
  readModel,
  readOptional,
  refusal,
} from '../core/json/fields.ts'
import { type ModelSpan, modelSpan } from '../core/json/model-splice.ts'
import { type Fields, isRecord, listOf } from '../core/json/value.ts'
import { weighInput } from '../core/json/weigh.ts'
import { imageKindOf } from '../core/neutral/delivered.ts'
import { count } from '../core/neutral/token-count.ts'
import type { JsonLimits, ParsedRequest, RequestHead } from '../core/request.ts'
import { readPosition } from './chains/position.ts'
import { INPUT_FIELDS } from './input.ts'

/** Top-level keys that the gateway uses. */
const READ_KEYS: ReadonlySet<string> = new Set([
  'model',
  'input',
  'instructions',
  'stream',
  'max_output_tokens',
  'service_tier',
  'tools',
  'max_tool_calls',
  'background',
  'previous_response_id',
  'conversation',
  'prompt',
  'store',
])
/** Fields that refer to input that the vendor stores. */
export const INSTEAD_OF_INPUT = ['previous_response_id', 'conversation', 'prompt']
/** Tiers that change nothing. */
const PLAIN_TIERS = ['', 'auto', 'default']

export interface ResponsesOwn extends ModelSpan {
  position: ChainPosition
  /** Id of the response that the client's request continues; position() has none once its conversation is written out. */
  continues?: string
}

const HOSTED: readonly (readonly [type: string, tool: HostedTool])[] = [
  ['web_search', 'webSearch'],
  ['file_search', 'fileSearch'],
  ['code_interpreter', 'codeInterpreter'],
]

/** Types may end in a version, such as web_search_preview_2025_03_11. */
function hostedTools(tools: unknown, mostCalls: number | undefined): RequestHead['hostedTools'] | undefined {
  const types = listOf(tools).flatMap((tool) => (isRecord(tool) ? [String(tool.type)] : []))
  const found = HOSTED.filter(([prefix]) => types.some((type) => type.startsWith(prefix)))
  return found.length === 0
    ? undefined
    : found.map(([, tool]) => ({ tool, field: 'tools', ...present({ mostCalls }) }))
}

const isImageTool = ({ type }: Fields) => type === 'image_generation'

/** Throws GatewayError naming the field. */
export function parseRequest(body: Buffer, limits: JsonLimits): ParsedRequest<ResponsesOwn> {
  const parsed = parseJsonObject(body, limits, READ_KEYS)
  const { value } = parsed
  const model = readModel(value.model)
  checkInput(value, limits)
  const stream = readOptional(value, 'stream', isBoolean, 'true or false') ?? false
  if (readOptional(value, 'background', isBoolean, 'true or false') === true) {
    const message = 'background is not supported: the gateway cannot meter an answer that is fetched later.'
    throw new GatewayError('unsupported_parameter', message, { param: 'background' })
  }
  readOptional(value, 'instructions', isString, 'a string')
  const maxOutputTokens = readOptional(value, 'max_output_tokens', isOutputLimit, OUTPUT_RULE)
  const tier = readOptional(value, 'service_tier', isString, 'a string')
  checkRecords(value, 'tools')
  const position = readPosition(value)

  const head: RequestHead = {
    model,
    stream,
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    choices: 1,
    ...(tier !== undefined && !PLAIN_TIERS.includes(tier) && { tier }),
    ...(isString(value.prompt_cache_key) && { cacheKey: value.prompt_cache_key }),
    ...present({
      hostedTools: hostedTools(value.tools, count(value.max_tool_calls)),
      imageKind: imageKindOf(listOf(value.tools).filter(isRecord).find(isImageTool)),
    }),
    wantsStreamUsage: false,
    input: weighInput(parsed, INPUT_FIELDS),
  }
  return {
    head,
    body,
    value: new BodyValue(body, value),
    headers: {},
    own: {
      ...modelSpan(parsed.members, ['max_output_tokens']),
      position,
      ...(position.previous !== undefined && { continues: position.previous }),
    },
    ...(asksCompaction(value) && { compacts: true }),
  }
}

function checkInput(value: Record<string, unknown>, limits: JsonLimits): void {
  const { input } = value
  if (typeof input === 'string') return
  const mayBeEmpty =
    limits.mayBeEmpty === true ||
    INSTEAD_OF_INPUT.some((field) => value[field] !== undefined && value[field] !== null)
  if (input === undefined || input === null) {
    if (!mayBeEmpty) throw refusal('input', `may be absent only beside ${INSTEAD_OF_INPUT.join(', ')}`)
    return
  }
  if (!Array.isArray(input)) throw refusal('input', 'must be a string or an array of items')
  if (input.length === 0 && !mayBeEmpty) throw refusal('input', 'must not be empty')
  input.forEach((item: unknown, i) => {
    if (!isRecord(item)) throw refusal(`input[${i}]`, 'must be an object')
  })
}

/** True if the last item is a trigger; elsewhere a trigger has no effect. */
function asksCompaction({ input }: Record<string, unknown>): boolean {
  const last: unknown = Array.isArray(input) ? input.at(-1) : undefined
  return isRecord(last) && last.type === 'compaction_trigger'
}
