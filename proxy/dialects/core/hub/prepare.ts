/** Makes a request of one dialect ready for another: what no encoder needs to know about. */
import type { ApiName } from '../../../../contract/endpoints.ts'
import type { Features } from '../../../../contract/profiles.ts'
import { GatewayError } from '../../../errors.ts'
import { addExtLosses, type Losses } from '../neutral/losses.ts'
import type { ModelRequest, Turn } from '../neutral/types.ts'
import type { TakesText } from './call-guard.ts'
import { carryBesideCalls, restoreToCalls } from './call-state.ts'
import { repairHistory } from './repair.ts'
import { cutAtStop } from './stop.ts'
import type { PartFilter } from './stream.ts'
import { adaptTools } from './tools.ts'

export interface Prepared {
  request: ModelRequest
  /** What the answer goes through on its way back, in this order. */
  filters: PartFilter[]
  takesText: TakesText
}

export interface PrepareTarget {
  dialect: ApiName
  features: Features
  /** An upstream refused the vendor state of this conversation: go without it. */
  withoutCarriers: boolean
}

/** Each costs time for every character of the answer. */
const MAX_STOPS = 64

/** Throws GatewayError unsupported_parameter for what the upstream cannot have and nobody may drop. */
export function prepare(original: ModelRequest, target: PrepareTarget, losses: Losses): Prepared {
  const carried = target.withoutCarriers ? dropCarriers(original, losses) : original
  if (original.source === target.dialect) return { request: carried, filters: [], takesText: no }
  const { dialect, features } = target
  addExtLosses(carried, dialect, losses)
  // It takes one prompt: neither a history nor tools reach it.
  if (dialect === 'images') return { request: carried, filters: [], takesText: no }
  const whole = dialect === 'chat' ? restoreToCalls(carried) : carried
  const adapted = adaptTools(repairHistory(whole, losses), { dialect, features }, losses)
  const { request, restore, takesText } = adapted
  const filters: PartFilter[] = restore === undefined ? [] : [restore]
  if (dialect === 'chat') filters.push(carryBesideCalls)
  const { stop = [], ...withoutStop } = request
  if (dialect !== 'responses' || stop.length === 0) return { request, filters, takesText }
  if (stop.length > MAX_STOPS) {
    const param = losses.name('stop', request)
    const message = `${param} must have at most ${MAX_STOPS} entries for this model.`
    throw new GatewayError('unsupported_parameter', message, { param })
  }
  return { request: withoutStop, filters: [(emit) => cutAtStop(stop, emit), ...filters], takesText }
}

const no = () => false

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
