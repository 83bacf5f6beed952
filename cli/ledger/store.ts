/**
 * The ledger in Redis, for the commands that change it: whoever has the credentials of Redis may change balances, and no
 * network port can.
 */
import { EnvironmentError, readEnvironment } from '../../contract/env.ts'
import { objectId } from '../../contract/ids.ts'
import { type Store, StoreUnavailable } from '../../store/contract.ts'
import { CommandFailure, type Terminal, UsageError } from '../command.ts'
import { openRedisStore } from '../redis-store.ts'

const IN_A_POD = 'kubectl exec -n sluice deploy/sluice-controller -- /nodejs/bin/node cli/main.ts ledger ...'
/** A person waits longer than a request: Redis may be far away, or this machine busy. */
const PATIENCE_MS = 5_000
const log = { info() {}, warn() {}, error() {} }

/** Runs `work` on the store of the settings. Throws UsageError without settings, CommandFailure if Redis does not answer. */
export async function withStore<T>({ env }: Terminal, work: (store: Store) => Promise<T>): Promise<T> {
  const store = openStore(env)
  try {
    return await work(store)
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    throw new CommandFailure(error.message)
  } finally {
    await store.close()
  }
}

function openStore(env: Terminal['env']): Store {
  try {
    return openRedisStore(readEnvironment(env).env, 'ledger', log, PATIENCE_MS)
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error
    throw new UsageError(`${error.message}\nIn a cluster, a controller's pod has these settings: ${IN_A_POD}`)
  }
}

/** The id of an Account that is given as namespace/name. */
export function accountId(given: string): string {
  const [, namespace, name] = /^([^/]+)\/([^/]+)$/.exec(given) ?? []
  if (namespace === undefined || name === undefined)
    throw new UsageError(`'${given}' is not namespace/name of an Account`)
  return objectId(namespace, name)
}

/** The id of a sub-account that is given by its name. */
export function subAccountId(account: string, sub: string | undefined): string | undefined {
  return sub === undefined ? undefined : accountId(`${account.split('/')[0]}/${sub}`)
}

/** The term of the present leader, which a command must not be older than. */
export async function presentEpoch({ config }: Store): Promise<number> {
  const { epoch } = await config.position()
  if (epoch === 0) throw new CommandFailure('this Redis holds nothing yet: no controller has published')
  return epoch
}
