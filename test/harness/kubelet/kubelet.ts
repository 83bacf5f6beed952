/**
 * A stand-in for the nodes of a cluster: it registers Nodes, binds pods to them, and runs their containers as processes
 * of this machine, so that a release can be installed, used, upgraded and killed without containers. It keeps to what a
 * kubelet does with environment, volumes, tokens, probes, hooks, grace periods, restarts and status.
 *
 * What it leaves unproven, because it does none of it:
 * - Images: the programs are those of the checkout and of this machine (images.ts). test/chart/image.test.ts looks at
 *   the Dockerfile. Nothing is pulled.
 * - Networks: all pods share the machine's, each with a loopback address of its own. There is no kube-proxy, no DNS and
 *   no NetworkPolicy. Names of Services are in /etc/hosts with the addresses of pods (services.ts), and a test gives those
 *   to nginx, Prometheus and the command line. The API server refuses loopback addresses in EndpointSlices, and as
 *   targets of pods/proxy; there is no port-forward, no exec and no logs.
 * - Resources: requests, limits, eviction, and a scheduler that looks at them. Pods are dealt out to the nodes in turn.
 * - Nodes: taints, leases and loss of a node; no node controller runs.
 * - Kernel: seccomp profiles, and other processes of the machine, which a container sees in /proc.
 */
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { Api, type ApiAccess, ApiError, Informer, MERGE_PATCH, type Named } from './api.ts'
import { type Images, imagesOf } from './images.ts'
import { type Pod, podSchema } from './pod-spec.ts'
import { PodWorker } from './pod-worker.ts'
import { addressesOf, hostsText, parseService, writeHosts } from './services.ts'

interface KubeletOptions {
  /** Only the pods of this namespace; default: those of all. */
  namespace?: string
  nodes?: string[]
  images?: Images
  /** Where containers reach the API server; default: where the stand-in does. */
  apiServer?: () => { host: string; port: number }
  /** Share of a token's life after which it is replaced; a kubelet's is 0.8. */
  tokenLifeShare?: number
}

const entries = z.object({
  data: z.record(z.string(), z.string()).nullish(),
  binaryData: z.record(z.string(), z.string()).nullish(),
})

export class Kubelet {
  readonly #api: Api
  readonly #options: Required<Omit<KubeletOptions, 'namespace'>>
  readonly #dir = mkdtempSync(join(tmpdir(), 'sluice-kubelet-'))
  readonly #workers = new Map<string, PodWorker>()
  readonly #outputs = new Map<string, string>()
  readonly #hosts = new Map<string, string>()
  readonly #informers: Record<'pods' | 'services' | 'configmaps' | 'secrets', Informer>
  readonly #binding = new Set<string>()
  readonly #network = `127.${octet()}`
  #addresses = octet() * 256 + octet()
  #turn = 0
  #stopped = false

  private constructor(api: Api, { namespace, ...options }: Required<KubeletOptions>) {
    this.#api = api
    this.#options = options
    const volumes = () => {
      for (const worker of this.#workers.values()) worker.refreshVolumes()
    }
    const base = `/api/v1${namespace === '' ? '' : `/namespaces/${namespace}`}`
    this.#informers = {
      pods: new Informer(api, `${base}/pods`, () => this.#sync()),
      services: new Informer(api, `${base}/services`, () => this.#writeHosts()),
      configmaps: new Informer(api, `${base}/configmaps`, volumes),
      secrets: new Informer(api, `${base}/secrets`, volumes),
    }
  }

  /** Resolves when the nodes are ready. */
  static async start(access: ApiAccess, options: KubeletOptions = {}): Promise<Kubelet> {
    const api = new Api(access)
    const { hostname, port } = new URL(access.url)
    const all = {
      namespace: '',
      nodes: ['node-a', 'node-b'],
      images: imagesOf(['sluice']),
      apiServer: () => ({ host: hostname, port: Number(port) }),
      tokenLifeShare: 0.8,
      ...options,
    }
    for (const name of all.nodes) await registerNode(api, name)
    const kubelet = new Kubelet(api, all)
    await Promise.all(Object.values(kubelet.#informers).map(({ synced }) => synced))
    return kubelet
  }

  /** host:port of the pods behind a Service that are ready, or of all if the Service publishes them. */
  addresses(namespace: string, service: string, portName?: string): string[] {
    const found = this.#informers.services.get(namespace, service)
    if (found === undefined) throw new Error(`there is no Service ${service}`)
    return addressesOf(parseService(found), this.#workers.values(), portName)
  }

  /** The pods with these labels that run here, oldest first. */
  pods(namespace: string, labels: Record<string, string> = {}): PodWorker[] {
    return [...this.#workers.values()].filter(({ pod: { metadata } }) => {
      const selected = Object.entries(labels).every(([key, value]) => metadata.labels[key] === value)
      return metadata.namespace === namespace && selected
    })
  }

  /** Everything that the containers of each pod have printed, also of pods that are gone. */
  outputs(namespace: string): Map<string, string> {
    const own = [...this.#outputs].filter(([name]) => name.startsWith(`${namespace}/`))
    return new Map(own.map(([name, text]) => [name.slice(namespace.length + 1), text]))
  }

  /** Kills all processes and removes the volumes and claims. The API server may be gone already. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#api.close()
    await Promise.all(Object.values(this.#informers).map((informer) => informer.stop()))
    await Promise.all([...this.#workers.values()].map((worker) => worker.kill()))
    rmSync(this.#dir, { recursive: true, force: true })
  }

  #sync(): void {
    if (this.#stopped) return
    const seen = new Set<string>()
    for (const object of this.#informers.pods.objects.values()) {
      const pod = podSchema.parse(object)
      seen.add(pod.metadata.uid)
      if (pod.spec.nodeName === undefined) this.#bind(pod)
      else if (this.#options.nodes.includes(pod.spec.nodeName)) this.#run(pod, pod.spec.nodeName)
    }
    for (const [uid, worker] of this.#workers) if (!seen.has(uid)) worker.forget()
    this.#writeHosts()
  }

  /** The scheduler: the nodes in turn. */
  #bind(pod: Pod): void {
    const { name, namespace, uid, deletionTimestamp } = pod.metadata
    if (this.#binding.has(uid) || deletionTimestamp !== undefined) return
    this.#binding.add(uid)
    const { nodes } = this.#options
    const target = { apiVersion: 'v1', kind: 'Node', name: nodes[this.#turn++ % nodes.length] }
    const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name, namespace, uid }, target }
    // The next list shows a pod again that could not be bound.
    void this.#api
      .call('POST', `/api/v1/namespaces/${namespace}/pods/${name}/binding`, body)
      .catch(() => this.#binding.delete(uid))
  }

  #run(pod: Pod, nodeName: string): void {
    const { uid } = pod.metadata
    const worker = this.#workers.get(uid)
    if (worker !== undefined) {
      worker.update(pod)
      return
    }
    // Pods that ran to their end, or were never started here, need no process.
    if (['Succeeded', 'Failed'].includes(pod.status.phase)) return
    const number = ++this.#addresses % 65_536
    const podIP = `${this.#network}.${number >> 8}.${number & 255}`
    const { images, apiServer, tokenLifeShare } = this.#options
    const made = new PodWorker(
      pod,
      { podIP, hostIP: '127.0.0.1', nodeName },
      {
        api: this.#api,
        images,
        apiServer,
        tokenLifeShare,
        dir: this.#dir,
        entries: {
          configMap: (namespace, name) => entriesOf(this.#informers.configmaps.get(namespace, name), 'utf8'),
          secret: (namespace, name) => entriesOf(this.#informers.secrets.get(namespace, name), 'base64'),
        },
        hostsFile: (namespace) => this.#hostsFile(namespace),
        claim: (namespace, name) => join(this.#dir, 'claims', namespace, name),
        output: (name, chunk) =>
          this.#outputs.set(name, `${this.#outputs.get(name) ?? ''}${chunk.toString()}`),
        changed: () => this.#writeHosts(),
      },
    )
    this.#workers.set(uid, made)
    void made.over.then(() => {
      this.#workers.delete(uid)
      this.#writeHosts()
    })
    // It may have to end at once.
    made.update(pod)
  }

  #hostsFile(namespace: string): string {
    const file = this.#hosts.get(namespace)
    if (file !== undefined) return file
    const made = join(this.#dir, 'hosts', namespace)
    mkdirSync(join(this.#dir, 'hosts'), { recursive: true })
    closeSync(openSync(made, 'w', 0o644))
    this.#hosts.set(namespace, made)
    this.#writeHosts()
    return made
  }

  #writeHosts(): void {
    if (this.#stopped) return
    const services = [...this.#informers.services.objects.values()].map(parseService)
    const workers = [...this.#workers.values()]
    for (const [namespace, file] of this.#hosts) writeHosts(file, hostsText(namespace, services, workers))
  }
}

/** 1 to 254: two runs at the same time hardly ever share addresses. */
const octet = () => 1 + Math.floor(Math.random() * 254)

function entriesOf(object: Named | undefined, encoding: 'utf8' | 'base64'): Map<string, Buffer> | undefined {
  if (object === undefined) return undefined
  const { data, binaryData } = entries.parse(object)
  return new Map([
    ...Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, encoding)] as const),
    ...Object.entries(binaryData ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64')] as const),
  ])
}

async function registerNode(api: Api, name: string): Promise<void> {
  const labels = {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': process.arch,
  }
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } }
  await api.call('POST', '/api/v1/nodes', node).catch((error: unknown) => {
    if (!(error instanceof ApiError && error.status === 409)) throw error
  })
  const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', lastHeartbeatTime: new Date() }
  const capacity = { cpu: '64', memory: '256Gi', pods: '110' }
  const status = { capacity, allocatable: capacity, conditions: [ready] }
  await api.call('PATCH', `/api/v1/nodes/${name}/status`, { status }, MERGE_PATCH)
  // The API server gives each new node a taint, which the node controller would remove.
  await api.call('PATCH', `/api/v1/nodes/${name}`, { spec: { taints: null } }, MERGE_PATCH)
}
