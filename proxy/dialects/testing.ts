/** For tests of one dialect that have requests of another one. */
import type { ApiName } from '../../contract/endpoints.ts'
import { Losses } from './core/neutral/losses.ts'
import { DIALECTS } from './index.ts'

/** Nothing lost so far, for a client of the dialect. */
export function noLosses(client: ApiName): Losses {
  return new Losses(DIALECTS[client].lossNames)
}
