import type { ParsedRequest } from '../../core/dialect.ts'
import { API_VERSION } from '../version.ts'

/** The client's version and betas decide what its body may say, so they go with it. */
export function upstreamHeaders({ headers }: ParsedRequest): Record<string, string> {
  const beta = headers['anthropic-beta']
  return {
    'anthropic-version': headers['anthropic-version'] ?? API_VERSION,
    ...(beta !== undefined && { 'anthropic-beta': beta }),
  }
}
