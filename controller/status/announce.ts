/** The changes of a status that deserve an event, which `kubectl describe` shows. */
import type { Condition } from '../../contract/api/index.ts'
import type { EventRecord } from '../kube/events.ts'
import type { FoundStatus } from '../snapshot.ts'
import type { Status } from './board.ts'

export type Announcement = Omit<EventRecord, 'regarding'>

/** `found` is the status in the API server before `written`. */
export function announcements(found: FoundStatus | undefined, written: Status): Announcement[] {
  const before = (type: string) => found?.conditions?.find((condition) => condition.type === type)
  return written.conditions.flatMap((condition): Announcement[] => {
    const { type, reason, message } = condition
    if (isFault(condition) && !sameFault(condition, before(type)))
      return [{ type: 'Warning', reason, action: 'Judge', note: message }]
    if (type === 'Ready' && condition.status === 'True' && becomesReady(before(type))) {
      const programmed = written.conditions.find((other) => other.type === 'Programmed') ?? condition
      return [{ type: 'Normal', reason: programmed.reason, action: 'Publish', note: programmed.message }]
    }
    return []
  })
}

function isFault({ type, status, reason }: Condition): boolean {
  if (type === 'Ready') return reason === 'LedgerLost' || reason === 'StoreEvicts'
  if (type === 'FundsLow') return true
  if (type === 'Accepted' && reason === 'Expiring') return true
  return (type === 'Accepted' || type === 'ResolvedRefs') && status === 'False'
}

function sameFault(after: Condition, before: Condition | undefined): boolean {
  return before?.status === after.status && before.reason === after.reason && before.message === after.message
}

/** NoProxies does not count: it says nothing about the resource. */
function becomesReady(before: Condition | undefined): boolean {
  return before?.status !== 'True' && before?.reason !== 'NoProxies'
}
