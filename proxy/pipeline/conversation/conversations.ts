/** Ports of conversations. */
import type { KeyRing } from '../../../store/sealing.ts'
import type { Affinity } from '../../affinity/affinity.ts'
import type { BodyThreads } from '../body/threads.ts'
import type { Limits } from '../limits.ts'
import type { KeptConversations } from './previous.ts'

export interface Conversations extends KeptConversations {
  /** Remembers which channel served a client's state or session. */
  affinity: Affinity
  /** Seals vendor state that clients carry. */
  sealing: KeyRing
  /** The bounds on a request also apply to a stored conversation that is sent as a whole. */
  requests: Limits
  /** Convert large requests. */
  threads: Pick<BodyThreads, 'convert'>
  /** An answer could not be kept. */
  failed(error: unknown): void
}
