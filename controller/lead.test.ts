import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { objectId } from '../contract/ids.ts'
import { StoreUnavailable } from '../store/contract.ts'
import { createEmbeddedStore } from '../store/embedded/index.ts'
import type { Ledger } from '../store/ledger/contract.ts'
import { fileCheckpoints } from './books/checkpoint-file.ts'
import { compile } from './compile/index.ts'
import { Leader } from './lead.ts'
import { addTo, emptySnapshot } from './snapshot.ts'

const log = { info() {}, warn() {}, error() {} }
const HEALTHY = objectId('default', 'healthy')
/** More than the leader reads at once. */
const BROKEN = Array.from({ length: 20 }, (_, n) => `broken-${n}`)
const broken = new Set(BROKEN.map((name) => objectId('default', name)))

/** Accounts with $5 each; those that break come first. */
function accounts() {
  const snapshot = emptySnapshot()
  const metadata = (name: string) => ({ namespace: 'default', name, uid: name, generation: 1, createdAt: 0 })
  for (const name of [...BROKEN, 'healthy']) {
    const spec = { enforcement: 'Enforced', overdraft: '0', disabled: false } as const
    addTo(snapshot, { kind: 'Account', metadata: metadata(name), spec })
    const credit = { accountRef: { name }, amount: '5' }
    addTo(snapshot, { kind: 'Credit', metadata: metadata(`${name}-start`), spec: credit })
  }
  return compile(snapshot, Date.now())
}

test.each(['reap', 'balance'] as const)(
  'accounts whose %s fails do not stop the checkpoint of others',
  async (call) => {
    const store = createEmbeddedStore()
    let down = false
    const guard = (account: string) => {
      if (down && broken.has(account)) throw new StoreUnavailable('its node is down')
    }
    const ledger: Ledger = { ...store.ledger }
    if (call === 'reap')
      ledger.reap = async (account, max) => {
        guard(account)
        return store.ledger.reap(account, max)
      }
    else
      ledger.balance = async (account, named) => {
        guard(account)
        return store.ledger.balance(account, named)
      }
    const folder = mkdtempSync(join(tmpdir(), 'sluice-lead-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const checkpoints = fileCheckpoints(folder)
    const leader = new Leader({
      store: { ...store, ledger },
      log,
      now: Date.now,
      onFenced: () => {},
      checkpoints,
    })
    leader.submit(accounts())
    await leader.ready
    const credited = async () => (await store.ledger.balance(HEALTHY))?.credited
    await expect.poll(credited, { timeout: 10_000 }).toBe(5_000_000_000)
    down = true
    await store.ledger.topup({
      id: 'default/more',
      account: HEALTHY,
      amount: 1,
      epoch: leader.position?.epoch ?? 0,
    })

    // The last look of a term is one at the accounts in use.
    await leader.stop()
    const { shards } = await checkpoints.load()
    expect(shards[0]?.[HEALTHY]).toMatchObject({ credited: 5_000_000_001 })
  },
)
