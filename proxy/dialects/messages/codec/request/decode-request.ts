/** A messages request in the neutral form. */
import { EFFORTS, type Effort } from '../../../../../contract/profiles.ts'
import type { ParsedRequest } from '../../../core/dialect.ts'
import {
  countAt,
  numberFrom,
  oneOf,
  optional,
  recordAt,
  stringAt,
  stringsAt,
} from '../../../core/json/checks.ts'
import { parseWithInputs } from '../../../core/json/exact.ts'
import { refusal } from '../../../core/json/fields.ts'
import { isRecord } from '../../../core/json/value.ts'
import type { Envelopes, ModelRequest, OutputFormat, Reasoning } from '../../../core/neutral/types.ts'
import { sessionOf } from '../../session.ts'
import { decodeToolChoice, decodeTools } from './decode-tools.ts'
import { decodeSystem, decodeTurns } from './decode-turns.ts'
import { type Json, Keeper } from './keeper.ts'

const TYPED = [
  'model',
  'max_tokens',
  'messages',
  'system',
  'stream',
  'stop_sequences',
  'temperature',
  'top_p',
  'top_k',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'metadata',
  'service_tier',
  'speed',
]
/** How `output_config.format` was called before. */
const OLD_FORMAT = { format: 'output_format', 'format.schema': 'output_format.schema' }
const OWN_EFFORTS = EFFORTS.filter((effort) => effort !== 'none' && effort !== 'minimal')
const THINKING_FIELDS = ['type', 'budget_tokens', 'display']

export function decodeRequest(parsed: ParsedRequest, envelopes: Envelopes): ModelRequest {
  const body = parseWithInputs(parsed.body.toString('utf8'))
  if (!isRecord(body)) throw refusal('messages', 'must be part of a JSON object')
  const top = new Keeper().take(body, TYPED)
  if (body.stream === false) top.rest.stream = false
  if (Object.keys(parsed.headers).length > 0) top.shape.headers = parsed.headers

  const system = decodeSystem(body.system, top)
  const turns = decodeTurns(body.messages, envelopes)
  const tools = decodeTools(body.tools)
  if (Array.isArray(body.tools) && tools.length === 0) top.rest.tools = []
  const stop = optional(body.stop_sequences, 'stop_sequences', stringsAt)
  if (stop?.length === 0) top.rest.stop_sequences = []
  const maxOutputTokens = parsed.head.maxOutputTokens
  const temperature = optional(body.temperature, 'temperature', numberFrom(0, 1))
  const topP = optional(body.top_p, 'top_p', numberFrom(0, 1))
  const topK = optional(body.top_k, 'top_k', countAt)
  const tier = decodeTier(body, top)
  const user = decodeUser(body.metadata, top)
  const session = user === undefined ? undefined : sessionOf(user)
  const output = decodeOutputConfig(body, top)
  const reasoning = decodeReasoning(body.thinking, output.effort, top)
  return {
    source: 'messages',
    model: parsed.head.model,
    stream: parsed.head.stream,
    turns: system === undefined ? turns : [system, ...turns],
    tools,
    ...decodeToolChoice(body.tool_choice, tools, top),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
    ...(stop !== undefined && stop.length > 0 && { stop }),
    ...(output.format !== undefined && { format: output.format }),
    ...(reasoning !== undefined && { reasoning }),
    ...(user !== undefined && { user }),
    ...(session !== undefined && { session }),
    ...(tier !== undefined && { tier }),
    ...(top.shape.oldFormat === true && { names: OLD_FORMAT }),
    ...top.ext(''),
  }
}

/** Speed goes before the tier: both name what is paid for, and only one can be typed. */
function decodeTier(body: Json, top: Keeper): string | undefined {
  const { service_tier: given, speed } = body
  const tier = given === 'standard_only' ? 'default' : given === 'auto' ? 'auto' : undefined
  const fast = speed === 'fast'
  if (speed === 'standard') top.rest.speed = speed
  else if (!fast && speed !== undefined && speed !== null) top.fields.speed = speed
  if (tier === undefined && given !== undefined && given !== null) top.fields.service_tier = given
  if (tier !== undefined && fast) top.rest.service_tier = given
  return fast ? 'fast' : tier
}

function decodeUser(value: unknown, top: Keeper): string | undefined {
  const metadata = optional(value, 'metadata', recordAt)
  if (metadata === undefined) return undefined
  top.takeInside('metadata', metadata, ['user_id'])
  return optional(metadata.user_id, 'metadata.user_id', stringAt)
}

/** `output_format` is the old name of `output_config.format`. */
function decodeOutputConfig(body: Json, top: Keeper): { effort?: Effort; format?: OutputFormat } {
  const config = optional(body.output_config, 'output_config', recordAt)
  if (config !== undefined) top.takeInside('output_config', config, ['effort', 'format'])
  const effort = optional(config?.effort, 'output_config.effort', oneOf(OWN_EFFORTS))
  const own = decodeFormat(config?.format, 'output_config.format', top)
  if (own !== undefined && body.output_format !== undefined) top.rest.output_format = body.output_format
  const format = own ?? decodeFormat(body.output_format, 'output_format', top)
  if (own === undefined && format !== undefined) top.shape.oldFormat = true
  return { ...(effort !== undefined && { effort }), ...(format !== undefined && { format }) }
}

function decodeFormat(
  value: unknown,
  path: 'output_config.format' | 'output_format',
  top: Keeper,
): OutputFormat | undefined {
  const format = optional(value, path, recordAt)
  if (format === undefined) return undefined
  oneOf(['json_schema'])(format.type, `${path}.type`)
  const schema = recordAt(format.schema, `${path}.schema`)
  top.takeInside(path, format, ['type', 'schema'])
  return { type: 'schema', schema }
}

function decodeReasoning(value: unknown, effort: Effort | undefined, top: Keeper): Reasoning | undefined {
  const level = effort === undefined ? {} : { effort }
  const thinking = optional(value, 'thinking', recordAt)
  if (thinking === undefined) return effort === undefined ? undefined : level
  const type = stringAt(thinking.type, 'thinking.type')
  const keeper = new Keeper().take(thinking, THINKING_FIELDS)
  const summary = decodeDisplay(thinking.display, keeper)
  const read = { ...level, ...(summary !== undefined && { summary }) }
  switch (type) {
    case 'enabled': {
      const budgetTokens = countAt(thinking.budget_tokens, 'thinking.budget_tokens')
      return { ...read, budgetTokens, ...keeper.ext('thinking') }
    }
    case 'adaptive':
      return { ...read, thinking: 'adaptive', ...keeper.ext('thinking') }
    case 'disabled':
      return { ...read, thinking: 'off', ...keeper.ext('thinking') }
    default:
      top.fields.thinking = thinking
      return effort === undefined ? undefined : level
  }
}

function decodeDisplay(given: unknown, keeper: Keeper): Reasoning['summary'] {
  const display = optional(given, 'thinking.display', stringAt)
  if (display === 'omitted') return 'none'
  if (display === 'summarized') return 'auto'
  if (display !== undefined) keeper.fields.display = display
  return undefined
}
