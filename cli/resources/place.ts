/** Where commands find and write resources: the cluster of the kubeconfig, or a folder of files. */
import { z } from 'zod'
import type { KindName } from '../../contract/api/index.ts'

export type WrittenKind = Extract<KindName, 'ApiKey' | 'Credit'> | 'Secret'

/** A resource as it is stored. Of a Secret only that it exists: commands never read keys. */
export const stored = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string().optional(), uid: z.string().optional() }),
  spec: z.record(z.string(), z.unknown()).default({}),
  status: z.record(z.string(), z.unknown()).optional(),
})
export type Stored = z.output<typeof stored>

export interface NewResource {
  kind: WrittenKind
  name: string
  /** For Secrets the entries, in clear. */
  spec: object
  /** Kubernetes deletes the resource with this ApiKey. */
  owner?: Stored | undefined
}

export interface Place {
  namespace: string
  /** Undefined if it does not exist. */
  get(kind: WrittenKind, name: string): Promise<Stored | undefined>
  list(kind: 'ApiKey'): Promise<Stored[]>
  /** Throws CommandFailure if it exists or is refused. Returns what is stored. */
  create(resource: NewResource): Promise<Stored>
  /** Sets these fields of the spec; null removes one. */
  patch(kind: 'ApiKey', name: string, spec: object): Promise<void>
  close(): Promise<void>
}

export interface PlaceOptions {
  /** A folder instead of a cluster. */
  folder?: string
  namespace?: string
  /** Of the Secrets that are created in a cluster, beside those that all of them have. */
  secretLabels?: Readonly<Record<string, string>>
}
