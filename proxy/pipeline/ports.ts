/** The ports of the stages of a request. Each stage gets its own; only entry points hold them all. */
import type { Ledger } from '../../store/ledger/contract.ts'
import type { Admission } from './admission/admit.ts'
import type { Upstreams } from './attempt/job.ts'
import type { Billing } from './billing/charge.ts'
import type { BodyIntake } from './body/intake.ts'
import type { Conversations } from './conversation/conversations.ts'
import type { Journal } from './request/journal.ts'

export interface Ports {
  admission: Admission
  bodies: BodyIntake
  conversations: Conversations
  billing: Billing
  upstreams: Upstreams
  journal: Journal
  /** For the caller's own view; holds are taken through `billing`. */
  ledger: Pick<Ledger, 'balance' | 'usage' | 'entries'>
}
