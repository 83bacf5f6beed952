/** A whole cluster on loopback: the order in which its parts start and stop, and how to reach them. */
import { randomBytes } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { binary } from '../../test/assets/binaries.ts'
import { applyCrds } from './crds.ts'
import { endAll, ensureRunning, mustRun } from './detached.ts'
import { kubectlFor } from './kubectl.ts'
import { type ControlPlanePrograms, controlPlanePrograms } from './programs.ts'
import { controller, exampleUpstream, proxy, redis } from './servers.ts'
import type { ClusterState } from './state.ts'

interface ClusterSize {
  controllers: number
  proxies: number
  upstreamPort: number
}

/** Written to the file `env` of the folder as NAME=value lines; lists have commas, pids are name:pid. */
export interface ClusterEnv {
  KUBECONFIG: string
  KUBECTL: string
  REDIS_URL: string
  BASE_URLS: string
  ADMIN_URLS: string
  PIDS: string
  UPSTREAM_URL: string
  SEALING_KEYS_FILE: string
}

const SERVERS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'redis', 'upstream']

/** Starts the missing parts, and stops controllers and proxies beyond the requested numbers. */
export async function startCluster(state: ClusterState, size: ClusterSize): Promise<ClusterEnv> {
  const dir = join(state.dir, 'cluster')
  const ports = {
    etcd: await state.port('etcd'),
    etcdPeer: await state.port('etcd-peer'),
    apiserver: await state.port('kube-apiserver'),
  }
  const programs = await controlPlanePrograms(dir, ports, true)
  const redisPort = await state.port('redis')
  const shared = { redisUrl: `redis://127.0.0.1:${redisPort}`, sealingKeysFile: sealingKeys(state.dir) }
  const upstreamPort = await portOfUpstream(state, size.upstreamPort)

  await Promise.all([
    ensureRunning(state, redis(join(dir, 'redis'), redisPort)),
    ensureRunning(state, exampleUpstream(upstreamPort)),
    startControlPlane(state, programs),
  ])
  const controllers = await Promise.all(
    names('controller', size.controllers).map(async (name) => ({
      name,
      admin: await state.port(`${name}-admin`),
    })),
  )
  const proxies = await Promise.all(
    names('proxy', size.proxies).map(async (name) => ({
      name,
      port: await state.port(name),
      admin: await state.port(`${name}-admin`),
    })),
  )
  const wanted = new Set([...controllers, ...proxies].map(({ name }) => name))
  await endAll(
    state,
    programsOf(state).filter((name) => !wanted.has(name)),
  )
  await Promise.all([
    ...controllers.map(({ name, admin }) =>
      ensureRunning(state, controller(name, shared, programs.access.kubeconfig, admin)),
    ),
    ...proxies.map(({ name, port, admin }) => ensureRunning(state, proxy(name, shared, port, admin))),
  ])
  mustRun(state, [...SERVERS, ...wanted])
  return {
    KUBECONFIG: programs.access.kubeconfig,
    KUBECTL: binary('kubectl'),
    REDIS_URL: shared.redisUrl,
    BASE_URLS: proxies.map(({ port }) => `http://127.0.0.1:${port}`).join(','),
    ADMIN_URLS: [...controllers, ...proxies].map(({ admin }) => `http://127.0.0.1:${admin}`).join(','),
    PIDS: state
      .running()
      .map(({ name, pid }) => `${name}:${pid}`)
      .join(','),
    UPSTREAM_URL: `http://127.0.0.1:${upstreamPort}/v1`,
    SEALING_KEYS_FILE: shared.sealingKeysFile,
  }
}

/** Stops all parts, each after those that use it. */
export async function stopCluster(state: ClusterState): Promise<void> {
  await endAll(state, [...programsOf(state), 'upstream'])
  await endAll(state, ['redis', 'kube-controller-manager'])
  await endAll(state, ['kube-apiserver'])
  await endAll(state, ['etcd'])
}

async function startControlPlane(state: ClusterState, programs: ControlPlanePrograms): Promise<void> {
  await ensureRunning(state, programs.etcd)
  await ensureRunning(state, programs.apiserver)
  await Promise.all([
    ensureRunning(state, programs.controllerManager),
    applyCrds(kubectlFor(programs.access.kubeconfig)),
  ])
}

/** Names of the running controllers and proxies. */
function programsOf(state: ClusterState): string[] {
  return state
    .running()
    .map(({ name }) => name)
    .filter((name) => /^(controller|proxy)-\d+$/.test(name))
}

const names = (what: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${what}-${index + 1}`)

/** A running one keeps its port. */
async function portOfUpstream(state: ClusterState, asked: number): Promise<number> {
  if (state.pidOf('upstream') === undefined) state.setPort('upstream', asked)
  return await state.port('upstream')
}

/** Made once. A new key could not open the data in Redis. */
function sealingKeys(dir: string): string {
  const file = join(dir, 'sealing-keys')
  if (!existsSync(file)) writeFileSync(file, `k1:${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  return file
}
