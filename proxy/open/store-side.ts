/** Everything that follows the store: table and records, revoked keys, holds. */
import { EventEmitter } from 'node:events'
import type { Environment } from '../../contract/env.ts'
import type { ChannelTrouble, Store } from '../../store/contract.ts'
import { Holds } from '../ledger/holds.ts'
import { UnmeteredUsage } from '../ledger/unmetered.ts'
import { Revocation } from '../pipeline/admission/revocation.ts'
import { type FollowerEvents, TableFollower } from '../table/follower.ts'
import type { RoutingTable } from '../table/routing.ts'
import type { StoreAlarms } from '../telemetry/alarms.ts'

interface StoreSideOptions {
  store: Store
  env: Environment
  /** Name of this process, unique among the proxies of a store. */
  instance: string
  alarms: StoreAlarms
  troubles: () => readonly ChannelTrouble[]
  swapped: FollowerEvents['swapped']
}

export function openStoreSide(options: StoreSideOptions) {
  const { store, env, instance, alarms, troubles, swapped } = options
  // The follower finds the keys that revocation watches, and reports changed ones to it.
  const changes = new EventEmitter<{ keys: Parameters<FollowerEvents['keysChanged']> }>()
  const follower = new TableFollower(
    store.config,
    { proxy: instance, keyMaxAgeMs: env.SLUICE_KEY_MAX_AGE, troubles },
    {
      swapped: follow,
      keysChanged: (hashes) => void changes.emit('keys', hashes),
      failed: (error) => alarms.tableFailed(error),
      unreadable: (kind, error) => alarms.unreadable(kind, error),
      behind: () => alarms.behind(),
    },
  )
  const revocation = new Revocation(async (hash) => follower.key(hash))
  changes.on('keys', (hashes) => void revocation.recheck(hashes))
  const holds = new Holds(store.ledger, {
    failed: (operation, error) => alarms.ledgerFailed(operation, error),
    heldAgain: (account) => alarms.heldAgain(account),
    limited: (limit) => alarms.limited(limit.whose, limit.kind),
    accountMissing: (account, missing) => alarms.accountMissing(account, missing),
    dead: (settle, reason) => alarms.settleDead(settle, reason),
  })
  const unmetered = new UnmeteredUsage(store.ledger, (requests) => alarms.usageLost(requests))
  const unwatch = store.onRestored(() => {
    follower.readAgain()
    holds.restored()
  })
  function follow(table: RoutingTable, before: RoutingTable): void {
    swapped(table, before)
    // Perhaps the store was emptied, and its leader has filled it again: no connection is lost then.
    if (before.epoch !== 0 && table.epoch !== before.epoch) holds.restored()
  }
  return {
    follower,
    revocation,
    holds,
    unmetered,
    gauges: {
      holds: () => holds.live,
      unsettled: () => holds.unsettled,
      generation: () => follower.applied.generation,
      tableAgeSeconds: () => follower.ageMs / 1_000,
      storeAvailable: () => follower.reachable,
    },
    start: () => follower.start(),
    /** Waits at most `graceMs` until the store has taken all settles. */
    async drain(graceMs: number) {
      await holds.stop(graceMs)
      await unmetered.stop()
    },
    async stop() {
      unwatch()
      await follower.stop()
    },
  }
}
