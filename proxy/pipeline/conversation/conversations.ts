/** What conversations need beside the request. */
import type { StateStore } from '../../../store/contract.ts'
import type { KeyRing } from '../../../store/sealing.ts'
import type { Affinity } from '../../affinity/affinity.ts'
import type { Limits } from '../limits.ts'
import type { ConversationLimits } from './previous.ts'

export interface Conversations {
  /** Conversations that were kept. */
  state: StateStore
  /** Remembers which channel served a client's state or session. */
  affinity: Affinity
  /** Seals vendor state that clients carry. */
  sealing: KeyRing
  limits: ConversationLimits
  /** A stored conversation that is sent whole must keep to the bounds on a request. */
  requests: Limits
  /** An answer could not be kept. */
  failed(error: unknown): void
}
