/** Controllers and proxies as processes with a real API server and a real Redis, in their own namespace. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Kubectl, kubectlFor } from '../../tools/cluster/kubectl.ts'
import { freePorts } from '../../tools/cluster/ports.ts'
import {
  endProcess,
  type ManagedProcess,
  type ProgramSpec,
  startProcess,
} from '../../tools/cluster/process.ts'
import * as servers from '../../tools/cluster/servers.ts'
import { until } from './gateway.ts'
import { type KubeAccess, type KubeHttp, kubeHttp } from './kube-http.ts'
import { PATIENT, type RunningRedis, startRedis } from './redis.ts'

export interface FleetOptions {
  /** An API server with the CRDs: the shared one of all tests, or the test's own. */
  controlPlane: KubeAccess & { kubeconfig: string }
  /** Default 2. */
  controllers?: number
  /** Default 3. */
  proxies?: number
  /** Additional settings of all controllers and proxies. */
  env?: Record<string, string>
  /** Additional arguments of Redis. */
  redisArgs?: string[]
  /** Used instead of a new Redis; `stop` leaves it running. */
  redis?: RunningRedis
}

/** A controller or a proxy. */
export interface Member {
  name: string
  /** Of the current process. */
  readonly pid: number
  /** Base URL of the admin port: http://127.0.0.1:PORT */
  admin: string
  /** Resolves when the current process has exited. */
  readonly exited: Promise<void>
  kill(signal: NodeJS.Signals): void
  /** SIGSTOP and SIGCONT. */
  pause(): void
  resume(): void
  /** Restarts it with the same ports and name; resolves when it is ready. */
  restart(): Promise<void>
  /** Its output so far. */
  output(): string
}

export interface ProxyMember extends Member {
  /** http://127.0.0.1:PORT */
  base: string
}

export interface Fleet {
  namespace: string
  kube: KubeHttp
  /** With the administrator's rights, in the fleet's namespace. */
  kubectl: Kubectl
  redis: RunningRedis
  sealingKeysFile: string
  controllers: Member[]
  proxies: ProxyMember[]
  bases: string[]
  admins: string[]
  /** Files with the output of the controllers, the journal among it. */
  logs: string[]
  /** Waits for a controller that holds the Lease. */
  leader(): Promise<Member>
  /** Restarts these members. */
  startAll(members: readonly Member[]): Promise<void>
  /** Sends SIGTERM to these members; resolves when they have exited. */
  stopAll(members: readonly Member[]): Promise<void>
  /** Stops all processes and removes the namespace. */
  stop(): Promise<void>
}

/** Resolves when all members are ready. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const { controlPlane, controllers = 2, proxies = 3, env = {}, redisArgs = [] } = options
  const dir = mkdtempSync(join(tmpdir(), 'sluice-fleet-'))
  const namespace = `fleet-${randomBytes(5).toString('hex')}`
  const kube = kubeHttp(controlPlane, namespace)
  await kube.request('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
  const sealingKeysFile = join(dir, 'sealing-keys')
  writeFileSync(sealingKeysFile, `k1:${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  const redis = options.redis ?? (await startRedis({ args: redisArgs }))
  const shared = { redisUrl: redis.url, sealingKeysFile }
  const logs = join(dir, 'log')
  const running: ManagedProcess[] = []

  const start = async (spec: ProgramSpec): Promise<ManagedProcess> => {
    const process = await startProcess({ ...spec, env: { ...spec.env, ...PATIENT, ...env } }, logs)
    running.push(process)
    return process
  }
  const ports = await freePorts(controllers + 2 * proxies)
  const take = () => ports.pop() ?? 0
  const url = (port: number) => `http://127.0.0.1:${port}`

  const startController = async (name: string): Promise<Member> => {
    const port = take()
    const spec = servers.controller(name, shared, controlPlane.kubeconfig, port)
    const own = { SLUICE_NAMESPACE: namespace, SLUICE_WATCH_NAMESPACES: namespace }
    const process = await start({ ...spec, env: { ...spec.env, ...own } })
    return memberOf(process, url(port), logs)
  }
  const startProxy = async (name: string): Promise<ProxyMember> => {
    const [port, admin] = [take(), take()]
    const process = await start(servers.proxy(name, shared, port, admin))
    return Object.assign(memberOf(process, url(admin), logs), { base: url(port) })
  }
  const stop = async () => {
    await Promise.all(running.map((process) => endProcess(process, 'SIGTERM', 3_000)))
    await kube.request('DELETE', `/api/v1/namespaces/${namespace}`).catch(() => undefined)
    kube.close()
    if (options.redis === undefined) await redis.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    // Proxies become ready with the first table, so they depend on the controllers.
    const [controllerMembers, proxyMembers] = await Promise.all([
      Promise.all(names('controller', controllers).map(startController)),
      Promise.all(names('proxy', proxies).map(startProxy)),
    ])
    const kubectl = kubectlFor(controlPlane.kubeconfig)
    return {
      namespace,
      kube,
      kubectl: (...args) => kubectl('--namespace', namespace, ...args),
      redis,
      sealingKeysFile,
      controllers: controllerMembers,
      proxies: proxyMembers,
      bases: proxyMembers.map(({ base }) => base),
      admins: [...controllerMembers, ...proxyMembers].map(({ admin }) => admin),
      logs: controllerMembers.map(({ name }) => join(logs, `${name}.log`)),
      leader: () => until(() => leaderOf(controllerMembers), 'a controller to lead', LEADER_MS),
      startAll: async (members) => {
        await Promise.all(members.map((member) => member.restart()))
      },
      stopAll: async (members) => {
        for (const member of members) member.kill('SIGTERM')
        await Promise.all(members.map(({ exited }) => exited))
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A dead leader's Lease lasts for SLUICE_LEASE_DURATION, 15 s by default. */
const LEADER_MS = 30_000

export function memberOf(process: ManagedProcess, admin: string, logs: string): Member {
  return {
    name: process.name,
    admin,
    get pid() {
      return process.pid
    },
    get exited() {
      return process.exited
    },
    kill: (signal) => process.kill(signal),
    pause: () => process.kill('SIGSTOP'),
    resume: () => process.kill('SIGCONT'),
    restart: () => process.restart(),
    output: () => readFileSync(join(logs, `${process.name}.log`), 'utf8'),
  }
}

export async function leaderOf(controllers: readonly Member[]): Promise<Member | undefined> {
  for (const member of controllers)
    if ((await metric(member, 'sluice_controller_leader')) === 1) return member
  return undefined
}

/** Value of a series of /metrics, given with its labels; undefined if it is missing. */
export async function metric({ admin }: Member, series: string): Promise<number | undefined> {
  const text = await fetch(`${admin}/metrics`, { signal: AbortSignal.timeout(2_000) })
    .then((answer) => answer.text())
    .catch(() => '')
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

const names = (role: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${role}-${index + 1}`)
