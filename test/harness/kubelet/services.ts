/**
 * Which pods a Service leads to, and the names of Services for the pods. There is no kube-proxy and no DNS: a name leads
 * to addresses of pods, through a hosts file that all pods of a namespace share.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { z } from 'zod'
import type { Named } from './api.ts'
import { portNumber } from './pod-spec.ts'
import type { PodWorker } from './pod-worker.ts'

const serviceSchema = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string() }),
  spec: z.object({
    selector: z.record(z.string(), z.string()).optional(),
    publishNotReadyAddresses: z.boolean().default(false),
    ports: z
      .array(
        z.object({
          name: z.string().optional(),
          port: z.number(),
          targetPort: z.union([z.string(), z.number()]).optional(),
        }),
      )
      .default([]),
  }),
})
export type Service = z.output<typeof serviceSchema>

export const parseService = (object: Named): Service => serviceSchema.parse(object)

/** Pods that the Service selects, and that are ready unless it wants all; like the endpoints of a cluster. */
export function endpointsOf({ metadata, spec }: Service, workers: Iterable<PodWorker>): PodWorker[] {
  const selector = Object.entries(spec.selector ?? {})
  if (selector.length === 0) return []
  return [...workers].filter((worker) => {
    const { namespace, labels } = worker.pod.metadata
    const selected = selector.every(([key, value]) => labels[key] === value)
    const wanted = spec.publishNotReadyAddresses || (worker.ready && !worker.ending)
    return namespace === metadata.namespace && selected && wanted
  })
}

/** host:port of each pod behind a port of the Service, by its name or the only one. */
export function addressesOf(service: Service, workers: Iterable<PodWorker>, portName?: string): string[] {
  const port = service.spec.ports.find(({ name }) => portName === undefined || name === portName)
  if (port === undefined) throw new Error(`Service ${service.metadata.name} has no port ${portName}`)
  return endpointsOf(service, workers).map(({ pod, place }) => {
    const number = portNumber(port.targetPort ?? port.port, pod.spec.containers)
    return `${place.podIP}:${number ?? port.port}`
  })
}

/** Lines of /etc/hosts for the pods of one namespace. */
export function hostsText(
  namespace: string,
  services: readonly Service[],
  workers: readonly PodWorker[],
): string {
  const lines = ['127.0.0.1 localhost']
  for (const service of services) {
    const { name, namespace: home } = service.metadata
    const full = [`${name}.${home}`, `${name}.${home}.svc`, `${name}.${home}.svc.cluster.local`]
    const names = home === namespace ? [name, ...full] : full
    for (const { pod, place } of endpointsOf(service, workers)) {
      const own = names.map((each) => `${pod.metadata.name}.${each}`)
      lines.push(`${place.podIP} ${[...names, ...own].join(' ')}`)
    }
  }
  return lines.join('\n')
}

const HOSTS_BYTES = 32_768

/** Replaces the content in one write of always the same size: the file is mounted, so it must stay the same file. */
export function writeHosts(file: string, text: string): void {
  if (text.length >= HOSTS_BYTES) throw new Error('too many Services for the hosts file')
  const descriptor = openSync(file, 'r+')
  try {
    writeSync(descriptor, text.padEnd(HOSTS_BYTES, '\n'), 0)
  } finally {
    closeSync(descriptor)
  }
}
