/** The Secrets that resources refer to. */
import type { ApiKeySpec, ChannelSpec, Resource } from '../../../contract/api/index.ts'

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

/** "namespace/name" of every Secret that these resources refer to. */
export function secretsNamedBy(
  apiKeys: Iterable<Resource<ApiKeySpec>>,
  channels: Iterable<Resource<ChannelSpec>>,
): Set<string> {
  const names = new Set<string>()
  for (const { metadata, spec } of apiKeys) {
    if (spec.secretRef !== undefined) names.add(`${metadata.namespace}/${spec.secretRef.name}`)
    for (const { name } of spec.secretRefs ?? []) names.add(`${metadata.namespace}/${name}`)
    if (generatesKey(spec)) names.add(`${metadata.namespace}/${generatedSecretName(metadata.name)}`)
  }
  for (const { metadata, spec } of channels) {
    if (spec.secretRef !== undefined) names.add(`${metadata.namespace}/${spec.secretRef.name}`)
    for (const ref of [spec.tls?.caRef, spec.tls?.clientCertificateRef])
      if (ref !== undefined) names.add(`${metadata.namespace}/${ref.name}`)
  }
  return names
}
