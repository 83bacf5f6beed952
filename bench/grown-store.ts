/** Stores of any size, written without a controller: an account with money, and as many keys, routes and channels as wanted. */
import { hash } from 'node:crypto'
import { KINDS, type Metadata } from '../contract/api/index.ts'
import { objectId } from '../contract/ids.ts'
import { compile } from '../controller/compile/index.ts'
import { type Compiled, emptySnapshot } from '../controller/snapshot.ts'
import { keyOf } from './config.ts'
import { type OpenStore, openStore } from './gateway.ts'

export interface Size {
  keys: number
  routes: number
  /** Of each route. */
  channels: number
}

export const routeModel = (number: number) => `grown-${number}`

const NAMESPACE = 'default'
const CREDIT = 1_000_000_000_000_000
/** Records of a publication. */
const AT_ONCE = 5_000

const metadata = (name: string): Metadata => ({ namespace: NAMESPACE, name, generation: 1, createdAt: 0 })

/** Routes and channels, the account, and the record of the first key.. */
export function compiled({ routes, channels }: Omit<Size, 'keys'>, baseURL: string): Compiled {
  const snapshot = emptySnapshot()
  const names = Array.from({ length: channels }, (_, n) => `channel-${n}`)
  for (const name of names)
    snapshot.channels.push({
      kind: 'Channel',
      metadata: metadata(name),
      spec: KINDS.Channel.spec.parse({ type: 'chat_completion', baseURL, auth: { scheme: 'None' } }),
    })
  for (let n = 0; n < routes; n++)
    snapshot.modelRoutes.push({
      kind: 'ModelRoute',
      metadata: metadata(routeModel(n)),
      spec: KINDS.ModelRoute.spec.parse({
        model: routeModel(n),
        channels: [{ name: 'channel-0', model: 'bench-upstream' }],
        price: { input: '0.10', output: '0.40' },
      }),
    })
  snapshot.accounts.push({ kind: 'Account', metadata: metadata('grown'), spec: KINDS.Account.spec.parse({}) })
  snapshot.apiKeys.push({
    kind: 'ApiKey',
    metadata: metadata('key-0'),
    spec: KINDS.ApiKey.spec.parse({ hashes: [hash('sha256', keyOf(0))], accountRef: { name: 'grown' } }),
  })
  const made = compile(snapshot, Date.now())
  // More than a ModelRoute may name.
  for (const route of made.table.namespaces[NAMESPACE]?.routes ?? [])
    route.targets = route.targets.flatMap((target) => names.map((channel) => ({ ...target, channel })))
  return made
}

/** A store with all that, of the first term; its generation is the number of publications. */
export async function openGrown(
  size: Size,
  upstreamPort: number,
): Promise<OpenStore & { generation: number }> {
  const opened = await openStore()
  const { config, ledger } = opened.store
  const { table, keys, accounts } = compiled(size, `http://127.0.0.1:${upstreamPort}/json/v1`)
  const epoch = await config.newEpoch()
  const account = objectId(NAMESPACE, 'grown')
  await ledger.open({ account, epoch, create: true })
  await ledger.topup({ account, epoch, id: `${NAMESPACE}/grown`, amount: CREDIT })
  const none = { put: new Map<never, never>(), remove: [] }
  let generation = 1
  await config.publish({ epoch, generation, table, keys: none, accounts: { put: accounts, remove: [] } })
  const [record] = keys.values()
  if (record === undefined) throw new Error('the key does not compile')
  for (let from = 0; from < size.keys; from += AT_ONCE) {
    const count = Math.min(AT_ONCE, size.keys - from)
    const put = new Map(
      Array.from({ length: count }, (_, i) => {
        const name = `key-${from + i}`
        const id = objectId(NAMESPACE, name)
        return [hash('sha256', keyOf(from + i)), { ...record, id, name }] as const
      }),
    )
    generation++
    const reply = await config.publish({ epoch, generation, keys: { put, remove: [] }, accounts: none })
    if (reply !== 'published') throw new Error(`a publication is ${reply}`)
  }
  return Object.assign(opened, { generation, epoch })
}
