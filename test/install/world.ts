/** A cluster of our own that runs the chart's pods, with nginx as its ingress, and what a user does with it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ControlPlane, startControlPlane } from '../../tools/cluster/control-plane.ts'
import { mustKubectl } from '../../tools/cluster/kubectl.ts'
import { CHART, helm } from '../chart/helm.ts'
import { type Nginx, startNginx } from '../e2e/ingress/nginx.ts'
import { until } from '../harness/gateway.ts'
import { imagesOf } from '../harness/kubelet/images.ts'
import { Kubelet } from '../harness/kubelet/kubelet.ts'
import type { PodWorker } from '../harness/kubelet/pod-worker.ts'
import { startSwitch, type TcpSwitch } from '../harness/tcp-switch.ts'

export const NAMESPACE = 'sluice'
const REPOSITORY = 'images.example.com/sluice'
/** The ingress looks so often for pods that come and go; preStop must be longer. */
const FOLLOW_MS = 100
const PATIENT_MS = 120_000

/** As docs/install.md says, with shorter times: a pod stops within half a minute. */
export const VALUES = {
  image: { repository: REPOSITORY },
  trustedProxies: ['127.0.0.1/32'],
  proxy: { preStopSeconds: 3, terminationGracePeriodSeconds: 60 },
  controller: { extraEnv: [{ name: 'SLUICE_LEASE_DURATION', value: '6s' }] },
}

export interface InstallWorld {
  plane: ControlPlane
  kubelet: Kubelet
  /** Between the pods and the API server. */
  toApiServer: TcpSwitch
  nginx: Nginx
  /** Runs Helm on the release `sluice`; with `chart` another chart than that of the checkout. */
  release(command: string, values?: object, more?: string[], chart?: string): Promise<string>
  /** kubectl as the administrator, in the namespace of the resources. */
  kubectl(...args: string[]): Promise<string>
  apply(yaml: string): Promise<string>
  controllers(): PodWorker[]
  proxies(): PodWorker[]
  /** Admin ports of all controllers and proxies, as base URLs. */
  admins(): string[]
  /** What the containers of all pods have printed, also of those that are gone. */
  logs(): string
  /** The pod that holds the Lease. */
  leader(): Promise<PodWorker>
  stop(): Promise<void>
}

/** Starts the cluster; nothing is installed in it yet, and nginx leads nowhere. */
export async function startInstallWorld(): Promise<InstallWorld> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-install-'))
  const closers: (() => unknown)[] = [() => rmSync(dir, { recursive: true, force: true })]
  const stop = async () => {
    for (const close of closers.splice(0).reverse()) await close()
  }
  try {
    const plane = await startControlPlane({ dir, controllerManager: 'workloads' })
    closers.push(() => plane.stop())
    const toApiServer = await startSwitch(plane.ports.apiserver)
    closers.push(() => toApiServer.close())
    const kubelet = await Kubelet.start(plane, {
      images: imagesOf([REPOSITORY]),
      apiServer: () => ({ host: '127.0.0.1', port: toApiServer.port }),
      // Every token is replaced a few times while the tests run.
      tokenLifeShare: 0.003,
    })
    closers.push(() => kubelet.stop())
    const ingress = await startIngress(() => kubelet.addresses(NAMESPACE, 'sluice-proxy', 'http'))
    closers.push(ingress.stop)

    await mustKubectl(plane.kubectl, 'create', 'namespace', NAMESPACE)
    const restricted = 'pod-security.kubernetes.io/enforce=restricted'
    await mustKubectl(plane.kubectl, 'label', 'namespace', NAMESPACE, restricted)
    const kubectl = (...args: string[]) => mustKubectl(plane.kubectl, ...args)
    const component = (name: string) =>
      kubelet.pods(NAMESPACE, { 'app.kubernetes.io/component': name }).filter(({ ending }) => !ending)
    return {
      plane,
      kubelet,
      toApiServer,
      nginx: ingress.nginx,
      release: (command, values = {}, more = [], chart = CHART) => {
        const charts = ['install', 'upgrade'].includes(command) ? [chart] : []
        const place = ['--namespace', NAMESPACE, '--kubeconfig', plane.kubeconfig]
        return helm([command, 'sluice', ...charts, ...more, ...place], values).catch(
          async (error: unknown) => {
            const pods = await kubectl('get', 'pods', '--namespace', NAMESPACE)
            const ends = [...kubelet.outputs(NAMESPACE)].map(
              ([name, text]) => `${name}:\n${text.slice(-1_000)}`,
            )
            throw new Error([String(error), pods, ...ends].join('\n\n'))
          },
        )
      },
      kubectl,
      apply: (input) => mustKubectl(plane.kubectl, 'apply', '--filename', '-', { input }),
      controllers: () => component('controller'),
      proxies: () => component('proxy'),
      admins: () =>
        [...component('controller'), ...component('proxy')].map(({ place }) => `http://${place.podIP}:8081`),
      logs: () => [...kubelet.outputs(NAMESPACE).values()].join('\n'),
      leader: () =>
        until(
          async () => {
            const path = 'jsonpath={.spec.holderIdentity}'
            const lease = ['get', 'lease', 'sluice-controller', '--namespace', NAMESPACE, '--output', path]
            const holder = await kubectl(...lease)
            return component('controller').find(({ pod, ready }) => ready && holder === pod.metadata.name)
          },
          'a leader',
          PATIENT_MS,
        ),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** nginx as a controller of Ingresses configures it: it always leads to the ready pods of the Service. */
async function startIngress(addresses: () => string[]): Promise<{ nginx: Nginx; stop(): Promise<void> }> {
  // A port on which nothing listens, until there are pods.
  let current = '127.0.0.1:1'
  const nginx = await startNginx([`http://${current}`])
  const timer = setInterval(() => {
    let found: string[]
    try {
      found = addresses().sort()
    } catch {
      // No Service.
      return
    }
    if (found.length === 0 || found.join() === current) return
    current = found.join()
    nginx.lead(found.map((address) => `http://${address}`))
  }, FOLLOW_MS)
  const stop = async () => {
    clearInterval(timer)
    await nginx.stop()
  }
  return { nginx, stop }
}
