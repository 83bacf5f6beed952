/** Refuses requests that depend on state that only their vendor stores. */
import { GatewayError } from '../../../../errors.ts'
import type { HostedPart, ModelRequest } from '../../../core/neutral/types.ts'

/** Items that only their vendor can read or find. */
const BOUND_ITEMS: Record<string, string> = {
  compaction: 'contains a conversation that only the vendor that compacted it can read',
  item_reference: 'refers to an item that is not stored here',
}

/** Throws GatewayError for a request whose conversation an upstream of another dialect would not have in full. */
export function refuseStateful(request: ModelRequest): void {
  const { fields = {} } = request.ext ?? {}
  if (isGiven(fields.previous_response_id)) {
    const message = 'The previous response was not found: send the whole conversation as input.'
    throw new GatewayError('previous_response_not_found', message, { param: 'previous_response_id' })
  }
  for (const param of ['conversation', 'prompt']) {
    if (isGiven(fields[param])) {
      throw new GatewayError('unsupported_parameter', `${param} is not stored here.`, { param })
    }
  }
  for (const turn of request.turns) {
    if (turn.role !== 'assistant') continue
    for (const part of turn.parts) if (part.type === 'hosted') refuseBound(part)
  }
}

function refuseBound(part: HostedPart): void {
  const problem = Object.hasOwn(BOUND_ITEMS, part.name) ? BOUND_ITEMS[part.name] : undefined
  if (problem === undefined || part.dialect !== 'responses') return
  const param = part.path ?? 'input'
  throw new GatewayError('unsupported_parameter', `${param} ${problem}.`, { param })
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}
