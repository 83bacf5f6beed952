/** The Secrets that resources refer to. */
import type { ApiKeySpec } from '../../../contract/api/index.ts'
import type { AnyResource } from '../../snapshot.ts'

const MAX_NAME = 253
const SUFFIX = '-key'

/** True if the spec has neither Secrets nor hashes: the controller mints a key. */
export function generatesKey({ secretRef, secretRefs, hashes }: ApiKeySpec): boolean {
  return secretRef === undefined && secretRefs === undefined && hashes === undefined
}

/** Name of the generated Secret of an ApiKey. */
export function generatedSecretName(apiKey: string): string {
  return apiKey.slice(0, MAX_NAME - SUFFIX.length) + SUFFIX
}

/** "namespace/name" of every Secret that the resource refers to. */
export function secretsNamedBy(resource: AnyResource): ReadonlySet<string> {
  const names = namesIn(resource)
  if (names.length === 0) return NONE
  return new Set(names.map((name) => `${resource.metadata.namespace}/${name}`))
}

const NONE: ReadonlySet<string> = new Set()

function namesIn({ kind, metadata, spec }: AnyResource): string[] {
  if (kind === 'ApiKey' && generatesKey(spec)) return [generatedSecretName(metadata.name)]
  const refs =
    kind === 'ApiKey'
      ? [spec.secretRef, ...(spec.secretRefs ?? [])]
      : kind === 'Channel'
        ? [spec.secretRef, spec.tls?.caRef, spec.tls?.clientCertificateRef]
        : []
  return refs.flatMap((ref) => ref?.name ?? [])
}
