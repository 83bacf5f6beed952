/** Reads requests for a compaction: responses requests without a stream. */
import { GatewayError } from '../../../errors.ts'
import type { JsonLimits, ParsedRequest } from '../../core/request.ts'
import * as responses from '../request.ts'

/** Throws GatewayError naming the field. Fields that only responses has are accepted, because older agents send them. */
export function parseRequest(body: Buffer, limits: JsonLimits): ParsedRequest<responses.ResponsesOwn> {
  const request = responses.parseRequest(body, limits)
  if (request.head.stream) {
    const message = 'stream must be false: a compaction is not streamed.'
    throw new GatewayError('unsupported_parameter', message, { param: 'stream' })
  }
  request.compacts = true
  return request
}
