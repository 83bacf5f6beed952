/**
 * The Secrets of the cluster. Contents are kept only of those that a resource names: the rest is nobody's business
 * here, and there may be much of it.
 */
import { z } from 'zod'
import type { Log } from '../../../contract/log.ts'
import { type KubeClient, KubeError, type KubeObject } from '../../kube/types.ts'
import { SecretData } from '../../snapshot.ts'

const secretObject = z.object({
  metadata: z.object({
    resourceVersion: z.string(),
    ownerReferences: z.array(z.object({ uid: z.string(), controller: z.boolean().optional() })).optional(),
  }),
  data: z.record(z.string(), z.string()).optional(),
})

export interface KeptSecret {
  resourceVersion: string
  /** Uid of the object that it belongs to. */
  owner: string | undefined
  /** Undefined while no resource names it. */
  data: SecretData | undefined
}

/** Keeps the contents when `wanted`. */
export function keepSecret(object: KubeObject, wanted: boolean, old: KeptSecret | undefined): KeptSecret {
  const { metadata, data } = secretObject.parse(object)
  const { resourceVersion } = metadata
  if (old?.resourceVersion === resourceVersion && (old.data !== undefined || !wanted)) return old
  return {
    resourceVersion,
    owner: metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid,
    data: wanted ? decode(data ?? {}) : undefined,
  }
}

/** Line breaks at the end of a value, which editors and `echo` add, are dropped. */
function decode(data: Readonly<Record<string, string>>): SecretData {
  return new SecretData(
    Object.entries(data).map(([name, value]): [string, string] => [
      name,
      Buffer.from(value, 'base64')
        .toString('utf8')
        .replace(/[\r\n]+$/, ''),
    ]),
  )
}

/** Reads Secrets whose contents were not kept when they came. */
export class SecretReader {
  readonly #client: KubeClient
  readonly #log: Log

  constructor(client: KubeClient, log: Log) {
    this.#client = client
    this.#log = log
  }

  /** The Secret as it is now; undefined when it is gone or cannot be read. Never rejects. */
  async read(name: string): Promise<KeptSecret | undefined> {
    const [namespace = '', secret = ''] = name.split('/')
    const path = `/api/v1/namespaces/${namespace}/secrets/${secret}`
    try {
      const { metadata, data } = secretObject.parse(await this.#client.request({ path }))
      return {
        resourceVersion: metadata.resourceVersion,
        owner: metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid,
        data: decode(data ?? {}),
      }
    } catch (error) {
      const gone = error instanceof KubeError && error.status === 404
      if (!gone) this.#log.warn({ err: error, secret: name }, 'a Secret could not be read; trying again')
      return undefined
    }
  }
}
