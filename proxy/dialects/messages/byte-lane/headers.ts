import type { ParsedRequest } from '../../core/request.ts'
import { API_VERSION } from '../version.ts'

/** The client's version and betas, which decide the fields that its body may have. */
export function upstreamHeaders({ headers }: ParsedRequest): Record<string, string> {
  const beta = headers['anthropic-beta']
  return {
    'anthropic-version': headers['anthropic-version'] ?? API_VERSION,
    ...(beta !== undefined && { 'anthropic-beta': beta }),
  }
}
