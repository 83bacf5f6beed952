/** Decodes a messages request into the neutral form. */
import { EFFORTS, type Effort } from '../../../../../contract/features.ts'
import { bodyOf } from '../../../core/json/body-value.ts'
import {
  countAt,
  numberFrom,
  oneOf,
  optional,
  recordAt,
  stringAt,
  stringsAt,
} from '../../../core/json/checks.ts'
import { type Fields, noFields } from '../../../core/json/value.ts'
import { inside, keep } from '../../../core/neutral/keep.ts'
import type { Envelopes, ModelRequest, OutputFormat, Reasoning } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { sessionOf } from '../../session.ts'
import { withLongInputs } from '../long-inputs.ts'
import { decodeToolChoice, decodeTools } from './decode-tools.ts'
import { decodeSystem, decodeTurns } from './decode-turns.ts'

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
/** The older names of `output_config.format`. */
const OLD_FORMAT = { format: 'output_format', 'format.schema': 'output_format.schema' }
const OWN_EFFORTS = EFFORTS.filter((effort) => effort !== 'none' && effort !== 'minimal')
const THINKING_FIELDS = ['type', 'budget_tokens', 'display']

export function decodeRequest(parsed: ParsedRequest, envelopes: Envelopes): ModelRequest {
  const body = withLongInputs(bodyOf(parsed), () => parsed.body.toString('utf8'), 'messages')
  /** Top-level fields that are typed only in part. */
  const more = noFields()
  const system = decodeSystem(body.system)
  const turns = decodeTurns(body.messages, envelopes)
  const tools = decodeTools(body.tools)
  const stop = optional(body.stop_sequences, 'stop_sequences', stringsAt)
  const maxOutputTokens = parsed.head.maxOutputTokens
  const temperature = optional(body.temperature, 'temperature', numberFrom(0, 1))
  const topP = optional(body.top_p, 'top_p', numberFrom(0, 1))
  const topK = optional(body.top_k, 'top_k', countAt)
  const tier = decodeTier(body, more)
  const user = decodeUser(body.metadata, more)
  const session = user === undefined ? undefined : sessionOf(user)
  const output = decodeOutputConfig(body, more)
  const reasoning = decodeReasoning(body.thinking, output.effort, more)
  return {
    model: parsed.head.model,
    stream: parsed.head.stream,
    turns: system === undefined ? turns : [system, ...turns],
    tools,
    ...decodeToolChoice(body.tool_choice, tools, more),
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
    ...(body.speed === 'fast' && { speed: true }),
    ...(output.isOld && { names: OLD_FORMAT }),
    ...keep({ dialect: 'messages', at: '' }, body, TYPED, more),
  }
}

/** Speed takes precedence over the tier: both set the price, and the neutral form has only one field. */
function decodeTier(body: Fields, more: Fields): string | undefined {
  const { service_tier: given, speed } = body
  const tier = given === 'standard_only' ? 'default' : given === 'auto' ? 'auto' : undefined
  const fast = speed === 'fast'
  if (speed !== 'standard' && !fast && speed !== undefined && speed !== null) more.speed = speed
  if (tier === undefined && given !== undefined && given !== null) more.service_tier = given
  return fast ? 'fast' : tier
}

function decodeUser(value: unknown, more: Fields): string | undefined {
  const metadata = optional(value, 'metadata', recordAt)
  if (metadata === undefined) return undefined
  Object.assign(more, inside('metadata', metadata, ['user_id']))
  return optional(metadata.user_id, 'metadata.user_id', stringAt)
}

function decodeOutputConfig(
  body: Fields,
  more: Fields,
): { effort?: Effort; format?: OutputFormat; isOld: boolean } {
  const config = optional(body.output_config, 'output_config', recordAt)
  Object.assign(more, inside('output_config', config, ['effort', 'format']))
  const effort = optional(config?.effort, 'output_config.effort', oneOf(OWN_EFFORTS))
  const own = decodeFormat(config?.format, 'output_config.format', more)
  const format = own ?? decodeFormat(body.output_format, 'output_format', more)
  const isOld = own === undefined && format !== undefined
  return { ...(effort !== undefined && { effort }), ...(format !== undefined && { format }), isOld }
}

function decodeFormat(
  value: unknown,
  path: 'output_config.format' | 'output_format',
  more: Fields,
): OutputFormat | undefined {
  const format = optional(value, path, recordAt)
  if (format === undefined) return undefined
  oneOf(['json_schema'])(format.type, `${path}.type`)
  const schema = recordAt(format.schema, `${path}.schema`)
  Object.assign(more, inside(path, format, ['type', 'schema']))
  return { type: 'schema', schema, enforced: true }
}

function decodeReasoning(value: unknown, effort: Effort | undefined, more: Fields): Reasoning | undefined {
  const level = effort === undefined ? {} : { effort }
  const thinking = optional(value, 'thinking', recordAt)
  if (thinking === undefined) return effort === undefined ? undefined : level
  const type = stringAt(thinking.type, 'thinking.type')
  const { summary, lost } = decodeDisplay(thinking.display)
  const ext = keep({ dialect: 'messages', at: 'thinking' }, thinking, THINKING_FIELDS, lost)
  const read = { ...level, ...(summary !== undefined && { summary }) }
  switch (type) {
    case 'enabled': {
      const budgetTokens = countAt(thinking.budget_tokens, 'thinking.budget_tokens')
      return { ...read, budgetTokens, ...ext }
    }
    case 'adaptive':
      return { ...read, thinking: 'adaptive', ...ext }
    case 'disabled':
      return { ...read, thinking: 'off', ...ext }
    default:
      more.thinking = thinking
      return effort === undefined ? undefined : level
  }
}

function decodeDisplay(given: unknown): { summary?: Reasoning['summary']; lost?: Fields } {
  const display = optional(given, 'thinking.display', stringAt)
  if (display === 'omitted') return { summary: 'none' }
  if (display === 'summarized') return { summary: 'auto' }
  return display === undefined ? {} : { lost: { display } }
}
