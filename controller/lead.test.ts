import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { objectId } from '../contract/ids.ts'
import { StoreUnavailable } from '../store/contract.ts'
import { createEmbeddedStore } from '../store/embedded/index.ts'
import { fileCheckpoints } from './books/checkpoint-file.ts'
import { compile } from './compile/index.ts'
import { Leader } from './lead.ts'
import { addTo, emptySnapshot } from './snapshot.ts'

const log = { info() {}, warn() {}, error() {} }
const HEALTHY = objectId('default', 'healthy')
const BROKEN = objectId('default', 'broken')

/** Two accounts with $5 each. */
function twoAccounts() {
  const snapshot = emptySnapshot()
  const metadata = (name: string) => ({ namespace: 'default', name, uid: name, generation: 1, createdAt: 0 })
  for (const name of ['healthy', 'broken']) {
    const spec = { enforcement: 'Enforced', overdraft: '0', disabled: false } as const
    addTo(snapshot, { kind: 'Account', metadata: metadata(name), spec })
    const credit = { accountRef: { name }, amount: '5' }
    addTo(snapshot, { kind: 'Credit', metadata: metadata(`${name}-start`), spec: credit })
  }
  return compile(snapshot, Date.now())
}

test('an account that the store cannot serve does not stop the checkpoint of the others', async () => {
  const store = createEmbeddedStore()
  const reap = async (account: string, max: number) => {
    if (account === BROKEN) throw new StoreUnavailable('its node is down')
    return store.ledger.reap(account, max)
  }
  const folder = mkdtempSync(join(tmpdir(), 'sluice-lead-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const checkpoints = fileCheckpoints(folder)
  const ledger = { ...store.ledger, reap }
  const leader = new Leader({
    store: { ...store, ledger },
    log,
    now: Date.now,
    onFenced: () => {},
    checkpoints,
  })
  leader.submit(twoAccounts())
  await leader.ready
  await expect
    .poll(async () => (await store.ledger.balance(HEALTHY))?.credited, { timeout: 10_000 })
    .toBe(5_000_000_000)

  // The last look of a term is one at the accounts in use.
  await leader.stop()
  const { shards } = await checkpoints.load()
  expect(shards[0]?.[HEALTHY]).toMatchObject({ credited: 5_000_000_000 })
})
