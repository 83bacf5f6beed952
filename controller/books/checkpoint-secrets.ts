/** The checkpoint in Secrets of the controller's namespace, each with the accounts whose hash begins with its number. */
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { z } from 'zod'
import { type KubeClient, KubeError, kubeObject } from '../kube/types.ts'
import { type CheckpointStore, Superseded } from './checkpoint-store.ts'
import { type Marks, marks } from './mark.ts'

const SHARDS = 256
const EPOCH = 'sluice.dev/epoch'
const LABELS = { 'app.kubernetes.io/managed-by': 'sluice', 'sluice.dev/checkpoint': 'ledger' }
const READS_AT_ONCE = 16

const secret = kubeObject.extend({
  metadata: kubeObject.shape.metadata.extend({ annotations: z.record(z.string(), z.string()).default({}) }),
  data: z.object({ accounts: z.string() }),
})
const compress = promisify(gzip)
const decompress = promisify(gunzip)

/** `owner` begins the names of the Secrets; it differs for the installations of one namespace. */
export function secretCheckpoints(client: KubeClient, namespace: string, owner: string): CheckpointStore {
  const path = `/api/v1/namespaces/${namespace}/secrets`
  const nameOf = (shard: number) => `${owner}-ledger-${shard.toString(16).padStart(2, '0')}`
  /** resourceVersion of each Secret that exists. */
  const versions = new Map<number, string>()

  const read = async (name: string) => {
    try {
      return secret.parse(await client.request({ path: `${path}/${name}` }))
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return undefined
      throw error
    }
  }

  return {
    shards: SHARDS,
    async load() {
      const shards: Marks[] = Array.from({ length: SHARDS }, () => ({}))
      let epoch = 0
      versions.clear()
      const numbers = shards.keys()
      // By name, so that the controller needs no right to list Secrets here.
      const reader = async () => {
        for (const shard of numbers) {
          const found = await read(nameOf(shard))
          if (found === undefined) continue
          versions.set(shard, found.metadata.resourceVersion)
          shards[shard] = await unpack(found)
          epoch = Math.max(epoch, epochOf(found))
        }
      }
      await Promise.all(Array.from({ length: READS_AT_ONCE }, reader))
      return { epoch, shards }
    },
    async save(shard, accounts, epoch) {
      const name = nameOf(shard)
      const known = versions.get(shard)
      const body = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          name,
          namespace,
          labels: LABELS,
          annotations: { [EPOCH]: String(epoch) },
          ...(known !== undefined && { resourceVersion: known }),
        },
        type: 'sluice.dev/ledger',
        data: { accounts: await pack(accounts) },
      }
      const call =
        known === undefined
          ? { method: 'POST' as const, path }
          : { method: 'PUT' as const, path: `${path}/${name}` }
      try {
        versions.set(
          shard,
          kubeObject.parse(await client.request({ ...call, body })).metadata.resourceVersion,
        )
      } catch (error) {
        // Another controller has written it, or it was deleted: the next attempt knows.
        const changed = error instanceof KubeError && (error.status === 409 || error.status === 404)
        if (!changed) throw error
        const found = await read(name)
        if (found === undefined) versions.delete(shard)
        else if (epochOf(found) > epoch) throw new Superseded()
        else versions.set(shard, found.metadata.resourceVersion)
        throw error
      }
    },
  }
}

const epochOf = ({ metadata }: z.output<typeof secret>) => Number(metadata.annotations[EPOCH] ?? 0)

async function pack(accounts: Marks): Promise<string> {
  const packed = await compress(JSON.stringify(accounts))
  return packed.toString('base64')
}

async function unpack({ metadata: { name, namespace }, data }: z.output<typeof secret>): Promise<Marks> {
  try {
    return marks.parse(JSON.parse((await decompress(Buffer.from(data.accounts, 'base64'))).toString()))
  } catch (cause) {
    throw new Error(`the checkpoint in the Secret ${namespace}/${name} cannot be read`, { cause })
  }
}
