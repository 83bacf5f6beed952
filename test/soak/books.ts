/** Compares the journal of the ledger with what the upstream billed and what the clients saw. */
import { z } from 'zod'
import type { Killed } from './faults.ts'
import type { Case } from './load.ts'
import { costOf, inputOf, type World } from './world.ts'

const line = z.looseObject({
  kind: z.literal('ledger'),
  account: z.string(),
  type: z.string(),
  entry: z.string(),
  ref: z.string().default(''),
  delta: z.string().default('0'),
  reason: z.string().optional(),
  tokens: z.record(z.string(), z.number()).default({}),
})
type Line = z.output<typeof line>

/** The requests of the journal by their ids, with their closing entries, each once. */
function requestsOf(text: string): Map<string, Line[]> {
  const found = new Map<string, Map<string, Line>>()
  for (const each of text.split('\n').filter((one) => one.includes('"kind":"ledger"'))) {
    const { data } = line.safeParse(JSON.parse(each))
    if (data === undefined || !['settle', 'expire', 'late', 'lost'].includes(data.type)) continue
    const entries = found.get(data.ref) ?? new Map<string, Line>()
    found.set(data.ref, entries.set(`${data.account} ${data.entry}`, data))
  }
  return new Map([...found].map(([ref, entries]) => [ref, [...entries.values()]]))
}

/** Cases whose cost a killed proxy may have known alone. */
function isExposed(one: Case, killed: readonly Killed[]): boolean {
  const since = 3_000
  return killed.some(
    ({ proxy, at }) =>
      proxy === one.proxy && one.sentAt <= at && (one.end === 'left' || (one.endedAt ?? at) > at - since),
  )
}

/** Everything that is wrong, in words; empty if all is right. */
export function faultsOf(world: World, cases: readonly Case[], killed: readonly Killed[]): string[] {
  const faults: string[] = []
  const requests = requestsOf(world.fleet.controllers.map((one) => one.output()).join('\n'))
  const byInput = new Map<number, string[]>()
  const expired: string[] = []
  for (const [ref, entries] of requests) {
    const usage = entries.find(({ reason }) => reason === 'usage')
    const input = usage?.tokens.input
    if (input !== undefined) byInput.set(input, [...(byInput.get(input) ?? []), ref])
    else if (!entries.every(({ reason, delta }) => reason === 'unserved' && Number(delta) === 0))
      expired.push(ref)
  }
  const unsettled: Case[] = []
  for (const one of cases) {
    const bill = world.upstream.bill(one.id)
    const refs = byInput.get(inputOf(one.id)) ?? []
    if (refs.length > 1) faults.push(`${one.id} was charged as ${refs.join(' and ')}`)
    if (bill === undefined) {
      if (refs.length > 0) faults.push(`${one.id} was charged and never reached the upstream`)
      if (one.end === 'whole') faults.push(`${one.id} was answered without the upstream`)
      continue
    }
    const [ref] = refs
    if (ref === undefined) {
      unsettled.push(one)
      continue
    }
    // An expiry and the late entry after it are one charge. Repeated entries are one, too.
    const entries = requests.get(ref) ?? []
    const right = -costOf(bill)
    const sums = [sumOf(entries), ...entries.map((entry) => nanosOf(entry.delta))]
    if (!sums.includes(right))
      faults.push(
        `${one.id} (${one.end}) cost ${right} and was charged ${sums.join(', ')}: ${JSON.stringify(entries)}`,
      )
  }
  for (const one of unsettled.filter((each) => !isExposed(each, killed)))
    faults.push(
      `${one.id} (${one.end}, ${one.status}) was served by ${one.proxy} and is not charged its usage`,
    )
  const exposed = cases.filter((one) => isExposed(one, killed)).length
  if (expired.length < unsettled.length || expired.length > exposed)
    faults.push(
      `${expired.length} holds expired, ${unsettled.length} cases are without their usage, a kill met ${exposed}: ` +
        JSON.stringify(expired.slice(0, 5).map((ref) => requests.get(ref))),
    )
  return faults
}

const nanosOf = (dollars: string) => Math.round(Number(dollars) * 1e9)
const sumOf = (entries: readonly Line[]) => entries.reduce((sum, { delta }) => sum + nanosOf(delta), 0)
