/** Prepares a request for an upstream of another dialect, before the upstream's encoder writes it. */
import type { Features } from '../../../../contract/features.ts'
import { GatewayError } from '../../../errors.ts'
import type { Dialect } from '../dialect.ts'
import { addExtLosses, type Losses } from '../neutral/losses.ts'
import type { Emit, ModelRequest, PartFilter, Turn } from '../neutral/types.ts'
import type { TakesText } from './call-guard.ts'
import { repairHistory } from './repair.ts'
import { cutAtStop } from './stop.ts'
import type { ToolNames } from './tool-names.ts'
import { restoreCalls } from './tool-restore.ts'
import { adaptTools } from './tools.ts'

interface Prepared {
  request: ModelRequest
  answer: AnswerRules
}

/** What the answer to a prepared request needs. Plain data but for `names`, which follow from their tools. */
export interface AnswerRules {
  names?: ToolNames
  /** The calls of the answer must be mapped back to the names. */
  restores: boolean
  /** The gateway cuts the answer at these. */
  stop: string[]
}

/** How an answer is read. */
interface AnswerReading {
  /** Applied to the answer, in this order. */
  filters: PartFilter[]
  takesText: TakesText
}

export interface PrepareTarget {
  upstream: Pick<Dialect, 'name' | 'conversation'>
  features: Features
  /** Remove vendor state, because an upstream refused that of this conversation. */
  withoutCarriers: boolean
}

/** The search costs time per stop sequence and character of the answer. */
const MAX_STOPS = 64

/** Throws GatewayError unsupported_parameter for a field that the upstream does not support and that must not be dropped. */
export function prepare(original: ModelRequest, target: PrepareTarget, losses: Losses): Prepared {
  const carried = target.withoutCarriers ? dropCarriers(original, losses) : original
  const { upstream, features } = target
  const { name: dialect, conversation } = upstream
  addExtLosses(carried, dialect, losses)
  if (conversation === undefined) return { request: carried, answer: { restores: false, stop: [] } }
  const { tools: rules, stopSequences, adaptRequest } = conversation
  const whole = adaptRequest?.(carried) ?? carried
  const adapted = adaptTools(repairHistory(whole, losses), { dialect, rules, features }, losses)
  const { request, names, restores } = adapted
  const { stop = [], ...withoutStop } = request
  if (stopSequences || stop.length === 0) return { request, answer: { names, restores, stop: [] } }
  if (stop.length > MAX_STOPS) {
    const param = losses.name('stop', request)
    const message = `${param} must have at most ${MAX_STOPS} entries for this model.`
    throw new GatewayError('unsupported_parameter', message, { param })
  }
  return { request: withoutStop, answer: { names, restores, stop } }
}

/** How the answer of `upstream` to the prepared request is read. */
export function readingOf(
  { names, restores, stop }: AnswerRules,
  { conversation }: Pick<Dialect, 'conversation'>,
): AnswerReading {
  if (names === undefined) return { filters: [], takesText: () => false }
  const filters = [
    stop.length > 0 ? (emit: Emit) => cutAtStop(stop, emit) : undefined,
    restores ? (emit: Emit) => restoreCalls(names, emit) : undefined,
    conversation?.adaptAnswer,
  ].filter((filter) => filter !== undefined)
  return { filters, takesText: (name) => names.tool(name)?.kind === 'custom' }
}

function dropCarriers(request: ModelRequest, losses: Losses): ModelRequest {
  const turns = request.turns.map((turn): Turn => {
    if (turn.role !== 'assistant') return turn
    const parts = turn.parts.map((part) => {
      if (part.type !== 'reasoning' && part.type !== 'tool-call') return part
      const { carrier, ...rest } = part
      const field = part.type === 'reasoning' ? 'reasoning.state' : 'callState'
      if (carrier !== undefined) losses.lose(field, part)
      return rest
    })
    return { ...turn, parts }
  })
  return { ...request, turns }
}
