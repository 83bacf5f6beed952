/**
 * The Secrets of the cluster. Only contents that a resource refers to are kept: others are none of our business, and may
 * be large.
 */

import { z } from 'zod'
import { withoutEnd } from '../../../contract/text.ts'
import { type KubeClient, KubeError, type KubeObject } from '../../kube/types.ts'
import { SecretData } from '../../snapshot.ts'

const secretObject = z.object({
  metadata: z.object({
    resourceVersion: z.string(),
    ownerReferences: z
      .array(
        z.object({ kind: z.string(), name: z.string(), uid: z.string(), controller: z.boolean().optional() }),
      )
      .optional(),
  }),
  data: z.record(z.string(), z.string()).optional(),
})

export interface KeptSecret {
  resourceVersion: string
  /** The object that owns the Secret, and with which it is deleted. */
  owner: { kind: string; name: string; uid: string } | undefined
  /** Undefined while no resource refers to it. */
  data: SecretData | undefined
}

/** Keeps the contents if `wanted`. */
export function keepSecret(object: KubeObject, wanted: boolean, old: KeptSecret | undefined): KeptSecret {
  const same = old?.resourceVersion === object.metadata.resourceVersion
  return same && (old.data !== undefined || !wanted) ? old : parseSecret(object, wanted)
}

function parseSecret(object: unknown, wanted: boolean): KeptSecret {
  const { metadata, data } = secretObject.parse(object)
  return {
    resourceVersion: metadata.resourceVersion,
    owner: metadata.ownerReferences?.find(({ controller }) => controller === true),
    data: wanted ? decode(data ?? {}) : undefined,
  }
}

/** Removes trailing line breaks, which editors and `echo` add. */
function decode(data: Readonly<Record<string, string>>): SecretData {
  return new SecretData(
    Object.entries(data).map(([name, value]): [string, string] => [
      name,
      withoutEnd(Buffer.from(value, 'base64').toString('utf8'), '\r\n'),
    ]),
  )
}

/** Reads a Secret ("namespace/name") whose contents were not kept. Undefined if it is gone. Rejects with KubeError. */
export async function readSecret(client: KubeClient, name: string): Promise<KeptSecret | undefined> {
  const [namespace = '', secret = ''] = name.split('/')
  try {
    return parseSecret(
      await client.request({ path: `/api/v1/namespaces/${namespace}/secrets/${secret}` }),
      true,
    )
  } catch (error) {
    if (error instanceof KubeError && error.status === 404) return undefined
    throw error
  }
}
