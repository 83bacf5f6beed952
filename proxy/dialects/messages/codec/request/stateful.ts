import { GatewayError } from '../../../../errors.ts'
import type { ModelRequest } from '../../../core/neutral/types.ts'
import { threadUnsupported } from '../../threads.ts'

/** Fields that depend on state or services of this vendor. */
const BOUND = ['container', 'mcp_servers', 'thread', 'safeguards']

/** Throws GatewayError unsupported_parameter for a request that only this dialect can serve. */
export function refuseStateful(request: ModelRequest): void {
  if (request.ext?.dialect !== 'messages') return
  for (const param of BOUND) {
    const value = request.ext.fields[param]
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue
    if (param === 'thread') throw threadUnsupported()
    throw new GatewayError('unsupported_parameter', `${param} is not supported for this model.`, { param })
  }
}
