/** For tests of one dialect with requests of another one. */
import type { ApiName } from '../../contract/apis.ts'
import { Losses } from './core/neutral/losses.ts'
import type { ModelRequest } from './core/neutral/types.ts'
import { DIALECTS } from './index.ts'

/** A request and the dialect of its client, whose names its losses have. */
export interface SourcedRequest extends ModelRequest {
  source: ApiName
}

/** An empty collection of losses for a client of the dialect. */
export function noLosses(client: ApiName): Losses {
  return new Losses(DIALECTS[client].lossNames)
}
