import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { KINDS } from '../../contract/api/index.ts'
import { objectId } from '../../contract/ids.ts'
import { TABLE_VERSION } from '../../contract/table/records.ts'
import type { Heartbeat, Store } from '../../store/contract.ts'
import { createEmbeddedStore } from '../../store/embedded/index.ts'
import type { AppliedCredits, Compiled, CreditResult, Judgement, ObjectStatus, Risk } from '../snapshot.ts'
import { StatusBoard } from './board.ts'

const TEAM = objectId('default', 'team')

let now: number
let store: Store
let logged: string[]
let board: StatusBoard

beforeEach(() => {
  now = 1_000_000
  store = createEmbeddedStore({ now: () => now })
  logged = []
  const note = (level: string) => (_: object, message: string) => logged.push(`${level} ${message}`)
  const log = { info: note('info'), warn: note('warn'), error: note('error') }
  board = new StatusBoard({ store, log, now: () => now })
})

afterEach(() => store.close())

const FUNDS = new Map([[TEAM, { balance: 0, held: 0, credited: 0, spent: 0 }]])

interface Given {
  kind?: ObjectStatus['kind']
  name?: string
  generation?: number
  accepted?: boolean
  resolved?: boolean
  uid?: string
  preview?: string
  priced?: boolean
  inForce?: boolean
}

function object(given: Given = {}): ObjectStatus {
  const { kind = 'ApiKey', name = 'alice', generation = 1, accepted = true, resolved = true } = given
  const common = { observedGeneration: generation }
  const conditions: Judgement[] = [
    accepted
      ? { ...common, type: 'Accepted', status: 'True', reason: 'Accepted', message: 'fine' }
      : {
          ...common,
          type: 'Accepted',
          status: 'False',
          reason: 'Invalid',
          message: 'remove spec.limits',
        },
    resolved
      ? { ...common, type: 'ResolvedRefs', status: 'True', reason: 'ResolvedRefs', message: 'fine' }
      : { ...common, type: 'ResolvedRefs', status: 'False', reason: 'RefNotFound', message: 'no Secret' },
  ]
  if (given.priced === false)
    conditions.push({ ...common, type: 'Priced', status: 'False', reason: 'Unpriced', message: 'no price' })
  return {
    kind,
    metadata: { namespace: 'default', name, uid: given.uid ?? 'u1', generation, createdAt: 0 },
    inForce: given.inForce ?? (accepted && resolved),
    conditions,
    fields: given.preview === undefined ? {} : { preview: given.preview },
  }
}

function compiled(...statuses: ObjectStatus[]): Compiled {
  return {
    table: { version: TABLE_VERSION, namespaces: {} },
    keys: new Map(),
    accounts: new Map(),
    credits: [],
    statuses,
    until: Number.POSITIVE_INFINITY,
  }
}

function publish(
  wish: Compiled,
  generation: number,
  more: {
    credit?: CreditResult
    funds?: AppliedCredits['funds']
    lost?: AppliedCredits['lost']
    withheld?: AppliedCredits['withheld']
    spending?: AppliedCredits['spending']
  } = {},
) {
  const results = new Map(more.credit === undefined ? [] : [['default/start', more.credit]])
  board.published({
    compiled: wish,
    generation,
    credits: {
      results,
      funds: more.funds ?? new Map(),
      lost: more.lost ?? new Set(),
      withheld: more.withheld ?? new Set(),
      spending: more.spending ?? new Map(),
    },
  })
}

const beat = (proxy: string, generation: number) => store.config.beat({ proxy, epoch: 1, generation })

/** "True Programmed" */
async function condition(type: string, name = 'alice'): Promise<string> {
  const found = await entry(name)
  const { status, reason } = found.status.conditions.find((c) => c.type === type) ?? {}
  return `${status} ${reason}`
}

async function entry(name: string) {
  const found = (await board.list()).find((listed) => listed.name === name)
  if (found === undefined) throw new Error(`${name} is not listed`)
  return found
}

describe('observedGeneration', () => {
  it('is at the top of the status and in all of its conditions', async () => {
    for (const generation of [1, 2]) {
      board.judged(compiled(object({ generation, accepted: generation === 1 })))
      const { status } = await entry('alice')
      expect(status.observedGeneration).toBe(generation)
      expect(status.conditions.map((c) => c.observedGeneration)).toEqual(
        status.conditions.map(() => generation),
      )
    }
  })
})

describe('Stalled', () => {
  it('is true while the spec is refused, with the same message, and otherwise absent', async () => {
    board.judged(compiled(object({ accepted: false })))
    const refused = (await entry('alice')).status.conditions.find(({ type }) => type === 'Stalled')
    expect(refused).toMatchObject({ status: 'True', reason: 'Invalid', message: 'remove spec.limits' })
    // The Secret may still be created.
    board.judged(compiled(object({ generation: 2, resolved: false })))
    expect(await condition('Stalled')).toBe('undefined undefined')
    expect(await condition('Ready')).toBe('False RefNotFound')
  })

  it('is true for a credit that the ledger refuses', async () => {
    const wish = compiled(object({ kind: 'Credit', name: 'start' }))
    board.judged(wish)
    publish(wish, 100, { credit: { outcome: 'conflict' } })
    expect(await condition('Stalled', 'start')).toBe('True Conflicted')
  })
})

describe('Programmed', () => {
  it('is pending, then unknown without proxies, then true when all of them serve it', async () => {
    const wish = compiled(object())
    board.judged(wish)
    expect(await condition('Programmed')).toBe('False Pending')
    publish(wish, 100)
    expect(await condition('Programmed')).toBe('Unknown NoProxies')
    await beat('one', 100)
    await beat('two', 99)
    expect(await condition('Programmed')).toBe('False Pending')
    await beat('two', 101)
    expect(await condition('Programmed')).toBe('True Programmed')
  })

  it('counts proxies with a heartbeat within 5 seconds', async () => {
    const wish = compiled(object())
    board.judged(wish)
    publish(wish, 100)
    await beat('slow', 99)
    now += 4_000
    await beat('quick', 100)
    expect(await condition('Programmed')).toBe('False Pending')
    now += 2_000
    expect(await condition('Programmed')).toBe('True Programmed')
    now += 4_000
    expect(await condition('Programmed')).toBe('Unknown NoProxies')
  })

  it('needs the publication that contains the generation, not the newest', async () => {
    const first = compiled(object())
    board.judged(first)
    publish(first, 100)
    await beat('one', 100)
    publish(compiled(object(), object({ name: 'bob' })), 200)
    expect(await condition('Programmed')).toBe('True Programmed')
    const edited = compiled(object({ generation: 2 }))
    board.judged(edited)
    expect(await condition('Programmed')).toBe('False Pending')
    // The result of an older job says nothing about the new generation.
    publish(first, 300)
    await beat('one', 300)
    expect(await condition('Programmed')).toBe('False Pending')
    publish(edited, 400)
    await beat('one', 400)
    expect(await condition('Programmed')).toBe('True Programmed')
  })

  it('starts again when a Secret brings the same generation into force', async () => {
    const without = compiled(object({ resolved: false }))
    board.judged(without)
    publish(without, 100)
    await beat('one', 100)
    expect(await condition('Programmed')).toBe('False RefNotFound')
    const complete = compiled(object())
    board.judged(complete)
    expect(await condition('Programmed')).toBe('False Pending')
    publish(complete, 200)
    expect(await condition('Programmed')).toBe('False Pending')
    await beat('one', 200)
    expect(await condition('Programmed')).toBe('True Programmed')
    board.judged(without)
    board.judged(complete)
    expect(await condition('Programmed')).toBe('False Pending')
  })

  it.each<[string, Given, Given]>([
    ['what it names comes, though it was in force without', { resolved: false, inForce: true }, {}],
    ['its key is exchanged', { preview: '...aaaa' }, { preview: '...bbbb' }],
    ['it is made anew under its name', { uid: 'u1' }, { uid: 'u2' }],
  ])('starts again when %s', async (_what, before, after) => {
    const old = compiled(object(before))
    board.judged(old)
    publish(old, 100)
    await beat('one', 100)
    expect(await condition('Programmed')).toBe('True Programmed')
    const changed = compiled(object(after))
    board.judged(changed)
    expect([await condition('Programmed'), await condition('Ready')]).toEqual([
      'False Pending',
      'False Pending',
    ])
    publish(changed, 200)
    await beat('one', 200)
    expect(await condition('Ready')).toBe('True Ready')
  })

  it('takes no time from an earlier resource with the same name', async () => {
    board.judged(compiled(object({ uid: 'u1' })))
    now += 60_000
    board.judged(compiled(object({ uid: 'u2' })))
    const times = (await entry('alice')).status.conditions.map((c) => Date.parse(c.lastTransitionTime))
    expect(new Set(times)).toEqual(new Set([now]))
  })
})

describe('Ready', () => {
  it.each([
    [{}, 'True Ready'],
    [{ accepted: false, resolved: false }, 'False Invalid'],
    [{ resolved: false }, 'False RefNotFound'],
    [{ resolved: false, inForce: true }, 'False RefNotFound'],
    [{ priced: false }, 'False Unpriced'],
  ])('of %o is %s', async (given, expected) => {
    const wish = compiled(object(given))
    board.judged(wish)
    publish(wish, 100)
    await beat('one', 100)
    expect(await condition('Ready')).toBe(expected)
  })

  it('has the reason of a note in Accepted', async () => {
    const disabled = object({ kind: 'Account', name: 'team' })
    const [accepted, ...others] = disabled.conditions
    if (accepted === undefined) throw new Error('it has no condition')
    const note = { ...accepted, reason: 'Disabled' as const, message: 'switched off' }
    const wish = compiled({ ...disabled, conditions: [note, ...others] })
    board.judged(wish)
    publish(wish, 100, { funds: FUNDS })
    expect(await condition('Ready', 'team')).toBe('False NoProxies')
    await beat('one', 100)
    expect(await condition('Ready', 'team')).toBe('True Disabled')
  })

  it('waits for the proxies', async () => {
    const wish = compiled(object())
    board.judged(wish)
    publish(wish, 100)
    expect(await condition('Ready')).toBe('False NoProxies')
  })
})

describe('credits', () => {
  const credit = compiled(object({ kind: 'Credit', name: 'start' }))

  it('are ready when the ledger has applied them, without any proxy', async () => {
    board.judged(credit)
    expect(await condition('Ready', 'start')).toBe('False Pending')
    publish(credit, 100, { credit: { outcome: 'applied', appliedAt: now } })
    expect(await condition('Ready', 'start')).toBe('True Ready')
    expect((await entry('start')).status).toMatchObject({ appliedAt: '1970-01-01T00:16:40.000Z' })
  })

  it('say so if the ledger had applied them before', async () => {
    board.judged(credit)
    publish(credit, 100, { credit: { outcome: 'already' } })
    expect(await condition('Programmed', 'start')).toBe('True AlreadyApplied')
    expect(await condition('Ready', 'start')).toBe('True AlreadyApplied')
  })

  it('are refused by a closed account until it opens', async () => {
    board.judged(credit)
    publish(credit, 100, { credit: { outcome: 'closed' } })
    expect(await condition('Accepted', 'start')).toBe('True Accepted')
    expect(await condition('Ready', 'start')).toBe('False LedgerLost')
    const { conditions } = (await entry('start')).status
    expect(conditions.find(({ type }) => type === 'Ready')?.message).toContain('the account is closed')
    publish(credit, 101, { credit: { outcome: 'applied', appliedAt: now } })
    expect(await condition('Ready', 'start')).toBe('True Ready')
  })

  it('keep the time of their application, even if the account or the answer of the ledger changes', async () => {
    const taken = '1970-01-01T00:16:40.000Z'
    board.judged(credit)
    publish(credit, 100, { credit: { outcome: 'applied', appliedAt: now } })
    const without = compiled(object({ kind: 'Credit', name: 'start', resolved: false }))
    board.judged(without)
    publish(without, 101)
    expect((await entry('start')).status).toMatchObject({ appliedAt: taken })
    // So does a controller that knows it only from the status.
    const log = { info() {}, warn() {}, error() {} }
    board = new StatusBoard({ store, log, now: () => now, found: () => ({ appliedAt: taken }) })
    board.judged(without)
    publish(without, 102)
    expect((await entry('start')).status).toMatchObject({ appliedAt: taken })
  })

  it('that were re-created with the same name do not keep the earlier time', async () => {
    board.judged(credit)
    publish(credit, 100, { credit: { outcome: 'applied', appliedAt: now } })
    const other = compiled(object({ kind: 'Credit', name: 'start', uid: 'u2' }))
    board.judged(other)
    publish(other, 101, { credit: { outcome: 'conflict' } })
    expect((await entry('start')).status).not.toHaveProperty('appliedAt')
    expect(await condition('Ready', 'start')).toBe('False Conflicted')
  })

  it('are refused if their name was used for another amount', async () => {
    board.judged(credit)
    publish(credit, 100, { credit: { outcome: 'conflict' } })
    expect(await condition('Accepted', 'start')).toBe('False Conflicted')
    expect(await condition('Ready', 'start')).toBe('False Conflicted')
    expect(logged).toEqual([expect.stringContaining('warn Credit/start is not Accepted')])
  })
})

describe('a credit beyond the limit of the ledger', () => {
  it('is refused, with the reason', async () => {
    const credit = compiled(object({ kind: 'Credit', name: 'start' }))
    board.judged(credit)
    publish(credit, 100, { credit: { outcome: 'limit' } })
    expect(await condition('Accepted', 'start')).toBe('False Invalid')
    expect(await condition('Ready', 'start')).toBe('False Invalid')
    expect(logged.join()).toContain('the balance would exceed the limit of the ledger')
    publish(credit, 101, { credit: { outcome: 'applied' } })
    expect(await condition('Ready', 'start')).toBe('True Ready')
  })
})

describe('the list', () => {
  it('shows the funds of an account', async () => {
    const wish = compiled(object({ kind: 'Account', name: 'team' }))
    board.judged(wish)
    const funds = {
      balance: 6_500_000_000,
      held: 1_000_000_000,
      credited: 7_000_000_000,
      spent: 500_000_000,
    }
    publish(wish, 100, { funds: new Map([[TEAM, funds]]) })
    expect((await entry('team')).status).toMatchObject({
      balance: '6.5',
      held: '1',
      credited: '7',
      spent: '0.5',
    })
  })

  it('follows the status schema', async () => {
    const wish = compiled(object(), object({ kind: 'Credit', name: 'start' }))
    board.judged(wish)
    publish(wish, 100, { credit: { outcome: 'applied', appliedAt: now } })
    for (const { kind, status } of await board.list()) {
      expect(KINDS[kind].status.parse(status)).toEqual(status)
    }
  })

  it('drops deleted resources', async () => {
    board.judged(compiled(object(), object({ name: 'bob' })))
    board.judged(compiled(object({ name: 'bob' })))
    expect((await board.list()).map(({ name }) => name)).toEqual(['bob'])
  })

  it('changes a time only when the status changes', async () => {
    const wish = compiled(object())
    const since = async () =>
      (await entry('alice')).status.conditions.find((c) => c.type === 'Programmed')?.lastTransitionTime
    await beat('one', 99)
    board.judged(wish)
    const first = await since()
    now += 1_000
    publish(wish, 100)
    // Still False, for another reason.
    expect(await since()).toBe(first)
    await beat('one', 100)
    expect(await since()).toBe(new Date(now).toISOString())
    now += 1_000
    expect(await since()).toBe(new Date(now - 1_000).toISOString())
  })
})

describe('the log', () => {
  it('reports a refused resource once, and its recovery', async () => {
    board.judged(compiled(object({ resolved: false })))
    await board.refresh()
    board.judged(compiled(object({ resolved: false })))
    expect(logged).toEqual(['warn ApiKey/alice is not ResolvedRefs: no Secret'])
    board.judged(compiled(object()))
    await board.refresh()
    expect(logged.slice(1)).toEqual(['info ApiKey/alice is ResolvedRefs again'])
  })

  it('contains nothing about valid resources', async () => {
    const wish = compiled(object())
    board.judged(wish)
    publish(wish, 100)
    await board.refresh()
    expect(logged).toEqual([])
  })
})

describe('a resource that every proxy has served', () => {
  it('stays programmed when a proxy that is still behind joins', async () => {
    const wish = compiled(object())
    board.judged(wish)
    publish(wish, 100)
    await beat('one', 100)
    expect(await condition('Programmed')).toBe('True Programmed')
    await beat('joining', 1)
    expect(await condition('Programmed')).toBe('True Programmed')
    board.judged(compiled(object({ generation: 2 })))
    expect(await condition('Programmed')).toBe('False Pending')
  })

  it('no longer makes the board wait', async () => {
    const wish = compiled(object(), object({ name: 'bob', accepted: false }))
    board.judged(wish)
    expect(board.waiting).toBe(false)
    publish(wish, 100)
    expect(board.waiting).toBe(true)
    await beat('one', 99)
    await board.refresh()
    expect(board.waiting).toBe(true)
    await beat('one', 100)
    await board.refresh()
    expect(board.waiting).toBe(false)
  })
})

describe('a store that may lose balances', () => {
  const risk = (kind: Risk['kind']): Risk => ({ kind, message: `because of ${kind}`, servers: ['redis:1'] })
  const team = object({ kind: 'Account', name: 'team' })
  const atRisk = async (name = 'team') =>
    (await entry(name)).status.conditions.find(({ type }) => type === 'AtRisk')

  beforeEach(async () => {
    const wish = compiled(
      team,
      object({ name: 'alice' }),
      object({ kind: 'Account', name: 'off', accepted: false }),
    )
    board.judged(wish)
    await beat('one', 100)
    publish(wish, 100, { funds: FUNDS })
  })

  it.each([
    [['not_persistent'], 'True StoreNotPersistent'],
    [['evicts_volatile'], 'True StoreEvicts'],
    [['evicts_all', 'not_persistent'], 'True StoreEvicts'],
    [['not_persistent', 'persistence_unknown'], 'True StoreNotPersistent'],
    [['eviction_unknown', 'persistence_unknown'], 'undefined undefined'],
    [[], 'undefined undefined'],
  ] satisfies [Risk['kind'][], string][])('shows %o on accounts as %s', async (kinds, expected) => {
    board.risks(kinds.map(risk))
    expect(await condition('AtRisk', 'team')).toBe(expected)
    expect(await condition('Ready', 'team')).toBe('True Ready')
  })

  it('shows what may be lost, without the addresses of servers', async () => {
    board.risks([risk('evicts_all'), risk('not_persistent'), risk('persistence_unknown')])
    expect((await atRisk())?.message).toBe('because of evicts_all; because of not_persistent')
  })

  it('shows it on accounts in force only, and only while it holds', async () => {
    board.risks([risk('not_persistent')])
    expect([await atRisk('alice'), await atRisk('off')]).toEqual([undefined, undefined])
    board.risks([])
    expect(await atRisk()).toBeUndefined()
  })

  it('reports accounts only when the risks change', () => {
    const changes: (readonly string[])[] = []
    board = new StatusBoard({
      store,
      log: { info() {}, warn() {}, error() {} },
      now: () => now,
      onChange: (ids) => changes.push(ids),
    })
    board.judged(compiled(team, object({ name: 'alice' })))
    changes.length = 0
    board.risks([])
    board.risks([risk('not_persistent')])
    board.risks([{ ...risk('not_persistent'), servers: ['redis:2'] }])
    expect(changes).toEqual([['Account/default/team']])
  })

  it('does not open an account, and says why', async () => {
    const credit = object({ kind: 'Credit', name: 'start' })
    const wish = compiled(team, credit)
    board.judged(wish)
    const withheld = new Set([TEAM])
    publish(wish, 100, { withheld, credit: { outcome: 'withheld' } })
    for (const name of ['team', 'start'])
      for (const type of ['Programmed', 'Ready'])
        expect(await condition(type, name)).toBe('False StoreEvicts')
    publish(wish, 100, { funds: FUNDS, credit: { outcome: 'applied', appliedAt: now } })
    expect(await condition('Ready', 'team')).toBe('True Ready')
    expect(await condition('Ready', 'start')).toBe('True Ready')
  })
})

describe('an account whose balance the ledger has lost', () => {
  it('is accepted but not ready, and keeps its recorded funds', async () => {
    const found = { conditions: [], balance: '6.5', held: '0', credited: '7', spent: '0.5' }
    const log = { info() {}, warn() {}, error() {} }
    board = new StatusBoard({ store, log, now: () => now, found: () => found })
    const wish = compiled(object({ kind: 'Account', name: 'team' }))
    board.judged(wish)
    await beat('one', 100)
    publish(wish, 100, { lost: new Set([TEAM]) })
    expect(await condition('Accepted', 'team')).toBe('True Accepted')
    expect(await condition('Programmed', 'team')).toBe('False LedgerLost')
    expect(await condition('Ready', 'team')).toBe('False LedgerLost')
    const { conditions: _, ...funds } = found
    expect((await entry('team')).status).toMatchObject(funds)
    publish(wish, 100, { funds: FUNDS })
    expect(await condition('Ready', 'team')).toBe('True Ready')
  })

  it('keeps its status until the ledger has answered a new leader', async () => {
    const lost = { type: 'Programmed', status: 'False' as const, reason: 'LedgerLost', message: 'lost' }
    const condition = { ...lost, lastTransitionTime: '2026-01-01T00:00:00.000Z' }
    const found = { conditions: [condition], balance: '6.5' }
    const log = { info() {}, warn() {}, error() {} }
    board = new StatusBoard({ store, log, now: () => now, found: () => found })
    const wish = compiled(object({ kind: 'Account', name: 'team' }))
    board.judged(wish)
    await beat('one', 100)
    publish(wish, 100)
    await board.refresh()
    expect(board.status('Account/default/team')).toBeUndefined()
    board.money({
      results: new Map(),
      funds: new Map(),
      lost: new Set([TEAM]),
      withheld: new Set(),
      spending: new Map(),
    })
    const reasons = () =>
      board.status('Account/default/team')?.conditions.map(({ type, reason }) => `${type} ${reason}`)
    expect(reasons()).toContain('Ready LedgerLost')
    board.money({
      results: new Map(),
      funds: FUNDS,
      lost: new Set(),
      withheld: new Set(),
      spending: new Map(),
    })
    expect(reasons()).toContain('Ready Ready')
  })

  it('is refused at once, regardless of the ledger', () => {
    const found = {
      conditions: [
        {
          type: 'Programmed',
          status: 'True' as const,
          reason: 'Programmed',
          message: '',
          lastTransitionTime: '2026-01-01T00:00:00.000Z',
        },
      ],
    }
    const log = { info() {}, warn() {}, error() {} }
    board = new StatusBoard({ store, log, now: () => now, found: () => found })
    board.judged(compiled(object({ kind: 'Account', name: 'team', accepted: false })))
    expect(board.status('Account/default/team')?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'False', reason: 'Invalid' }),
    )
  })
})

describe('the health of a channel', () => {
  const trouble = { channel: 'default/up', lastFailure: 'transient', since: 0, ejected: true } as const
  const heart = (proxy: string, troubles: Heartbeat['troubles'] = []) =>
    store.config.beat({ proxy, epoch: 1, generation: 100, troubles })
  const health = async () => (await entry('up')).status.health

  beforeEach(async () => {
    const wish = compiled(object({ kind: 'Channel', name: 'up' }))
    board.judged(wish)
    publish(wish, 100)
    await heart('one')
    await heart('two')
    await board.refresh()
  })

  it('is a separate condition with the failures of all live proxies, and Ready does not depend on it', async () => {
    expect(await condition('Healthy', 'up')).toBe('True Healthy')
    expect(await health()).toBeUndefined()
    now += 10_000
    await heart('one', [trouble])
    await heart('two', [{ ...trouble, since: 5_000, ejected: false }])
    expect(await condition('Healthy', 'up')).toBe('False Ejected')
    expect(await health()).toEqual({
      lastFailure: 'transient',
      since: '1970-01-01T00:00:00.000Z',
      ejectedBy: 1,
      proxies: 2,
    })
    expect(await condition('Ready', 'up')).toBe('True Ready')
    const { status } = await entry('up')
    expect(KINDS.Channel.status.parse(status)).toEqual(status)
    now += 10_000
    await heart('one', [{ ...trouble, ejected: false }])
    expect(await condition('Healthy', 'up')).toBe('False Failing')
    now += 10_000
    await heart('one')
    await heart('two')
    expect(await condition('Healthy', 'up')).toBe('True Healthy')
    expect(await health()).toBeUndefined()
  })

  it('changes at most every ten seconds', async () => {
    now += 9_999
    await heart('one', [trouble])
    expect(await condition('Healthy', 'up')).toBe('True Healthy')
    now += 1
    expect(await condition('Healthy', 'up')).toBe('False Ejected')
    now += 1
    await heart('one')
    expect(await condition('Healthy', 'up')).toBe('False Ejected')
  })

  it('is absent if the channel is not in force', async () => {
    board.judged(compiled(object({ kind: 'Channel', name: 'up', resolved: false })))
    expect(await condition('Healthy', 'up')).toBe('undefined undefined')
  })
})

describe('a new account', () => {
  it('waits for the ledger', async () => {
    const wish = compiled(object({ kind: 'Account', name: 'team' }))
    board.judged(wish)
    await beat('one', 100)
    publish(wish, 100)
    expect(await condition('Ready', 'team')).toBe('False Pending')
    board.money({
      results: new Map(),
      funds: FUNDS,
      lost: new Set(),
      withheld: new Set(),
      spending: new Map(),
    })
    expect(await condition('Ready', 'team')).toBe('True Ready')
  })
})

describe('a route with missing channels', () => {
  const route = (endpoints: string[], given: Given = {}) => {
    const found = object({ kind: 'ModelRoute', name: 'm', resolved: false, inForce: true, ...given })
    return { ...found, fields: { endpoints } }
  }

  it.each([
    ['serves by the others', route(['/v1/responses']), 'False PartiallyReady'],
    ['has none that serves', route([]), 'False RefNotFound'],
    ['has no price either', route(['/v1/responses'], { priced: false }), 'False RefNotFound'],
  ])('%s', async (_, status, expected) => {
    const wish = compiled(status)
    board.judged(wish)
    publish(wish, 100)
    await beat('one', 100)
    expect(await condition('Ready', 'm')).toBe(expected)
    const ready = (await entry('m')).status.conditions.find(({ type }) => type === 'Ready')
    expect(ready?.message).toContain('no Secret')
    expect(await condition('Programmed', 'm')).toBe('True Programmed')
  })

  it('is pending until the proxies serve it', async () => {
    board.judged(compiled(route(['/v1/responses'])))
    expect(await condition('Ready', 'm')).not.toContain('PartiallyReady')
  })
})

describe('a status in the API server', () => {
  it('keeps its times as long as no condition changes its status', async () => {
    const since = '2026-01-01T00:00:00.000Z'
    const found = {
      conditions: ['Accepted', 'ResolvedRefs', 'Programmed', 'Ready'].map((type) => ({
        ...{ type, status: 'True' as const, observedGeneration: 1, lastTransitionTime: since },
        ...{ reason: 'Old', message: 'old' },
      })),
    }
    const changed: string[][] = []
    const log = { info() {}, warn() {}, error() {} }
    const onChange = (ids: readonly string[]) => changed.push([...ids])
    board = new StatusBoard({ store, log, now: () => now, found: () => found, onChange })
    const wish = compiled(object({ generation: 2 }))
    board.judged(wish)
    expect(changed).toEqual([['ApiKey/default/alice']])
    now += 5_000
    publish(wish, 100)
    await beat('one', 100)
    const { status } = await entry('alice')
    expect(status.conditions.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual(
      status.conditions.map(() => since),
    )
    expect(status.conditions.map(({ observedGeneration }) => observedGeneration)).toEqual([2, 2, 2, 2])
    changed.length = 0
    await board.refresh()
    board.judged(wish)
    expect(changed).toEqual([])
  })
})
