/** The environment, command and arguments of a container, from the pod's spec and the objects that it names. */
import type { Container, Pod } from './pod-spec.ts'

/** Entries of ConfigMaps and Secrets; undefined while the object does not exist. */
export interface Entries {
  configMap(namespace: string, name: string): Map<string, Buffer> | undefined
  secret(namespace: string, name: string): Map<string, Buffer> | undefined
}

/** The container cannot start yet; the kubelet tries again. */
export class NotYet extends Error {}

/** Facts of a pod that no object of the API has when its containers start. */
export interface Place {
  podIP: string
  hostIP: string
  nodeName: string
}

/** Throws NotYet if an object or an entry that is not optional is missing. */
export function environmentOf(
  container: Container,
  pod: Pod,
  place: Place,
  entries: Entries,
): Record<string, string> {
  const { namespace } = pod.metadata
  const env: Record<string, string> = {}
  for (const { prefix, configMapRef, secretRef } of container.envFrom) {
    const reference = configMapRef ?? secretRef
    if (reference === undefined) continue
    const kind = configMapRef === undefined ? 'secret' : 'configMap'
    const found = entries[kind](namespace, reference.name)
    if (found === undefined && !reference.optional) throw new NotYet(`${kind} "${reference.name}" not found`)
    for (const [key, value] of found ?? []) env[`${prefix}${key}`] = value.toString()
  }
  for (const { name, value, valueFrom } of container.env) {
    const reference = valueFrom?.configMapKeyRef ?? valueFrom?.secretKeyRef
    if (reference !== undefined) {
      const kind = valueFrom?.configMapKeyRef === undefined ? 'secret' : 'configMap'
      const found = entries[kind](namespace, reference.name)?.get(reference.key)
      if (found !== undefined) env[name] = found.toString()
      else if (!reference.optional)
        throw new NotYet(`couldn't find key ${reference.key} in ${kind} ${namespace}/${reference.name}`)
    } else if (valueFrom?.fieldRef !== undefined)
      env[name] = downward(valueFrom.fieldRef.fieldPath, pod, place)
    else env[name] = expand(value ?? '', env)
  }
  return env
}

/** Replaces $(NAME) by its value and $$ by $; leaves a $(NAME) without a value as it is. */
export function expand(text: string, env: Record<string, string>): string {
  return text.replace(/\$(?:\$|\(([\w.-]+)\))/g, (whole, name?: string) =>
    name === undefined ? '$' : (env[name] ?? whole),
  )
}

/** The value of a fieldPath of the downward API. Throws for a path that the stand-in does not know. */
export function downward(path: string, { metadata, spec }: Pod, place: Place): string {
  const [, which, key] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path) ?? []
  if (which === 'labels') return metadata.labels[key ?? ''] ?? ''
  if (which === 'annotations') return metadata.annotations[key ?? ''] ?? ''
  const known: Record<string, string> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'metadata.uid': metadata.uid,
    'metadata.labels': quoted(metadata.labels),
    'metadata.annotations': quoted(metadata.annotations),
    'spec.nodeName': place.nodeName,
    'spec.serviceAccountName': spec.serviceAccountName,
    'status.podIP': place.podIP,
    'status.podIPs': place.podIP,
    'status.hostIP': place.hostIP,
  }
  const value = known[path]
  if (value === undefined) throw new Error(`the stand-in does not know the field ${path}`)
  return value
}

const quoted = (map: Record<string, string>) =>
  Object.entries(map)
    .sort()
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n')
