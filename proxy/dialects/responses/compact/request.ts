/** Requests of a compaction: those of responses that ask for one answer of one piece. */
import { GatewayError } from '../../../errors.ts'
import type { JsonLimits, ParsedRequest } from '../../core/dialect.ts'
import * as responses from '../request.ts'

/** Throws GatewayError naming the field. Fields that only responses has pass: older agents send them along. */
export function parseRequest(body: Buffer, limits: JsonLimits): ParsedRequest {
  const request = responses.parseRequest(body, limits)
  if (request.head.stream) {
    const message = 'stream must be false: a compaction is answered in one piece.'
    throw new GatewayError('unsupported_parameter', message, { param: 'stream' })
  }
  request.compacts = true
  return request
}
