/** Controllers of a folder and proxies as processes with a real Redis, without Kubernetes. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from '../../tools/cluster/ports.ts'
import {
  endProcess,
  type ManagedProcess,
  type ProgramSpec,
  startProcess,
} from '../../tools/cluster/process.ts'
import * as servers from '../../tools/cluster/servers.ts'
import { leaderOf, type Member, memberOf, type ProxyMember } from './fleet.ts'
import { until } from './gateway.ts'
import { PATIENT, type RunningRedis, startRedis } from './redis.ts'

export interface FolderFleet {
  /** The folder of resources. */
  config: string
  /** SLUICE_STATE_DIR of both controllers. */
  state: string
  redis: RunningRedis
  sealingKeysFile: string
  controllers: Member[]
  proxies: ProxyMember[]
  /** Writes a file of the folder. */
  write(name: string, yaml: string): void
  /** Waits until exactly one controller leads, and another stands by. */
  sides(): Promise<{ leader: Member; standby: Member }>
  stop(): Promise<void>
}

const LEADER_MS = 30_000

/** Two controllers on one folder, and two proxies. Resolves when all are ready. */
export async function startFolderFleet(
  files: Record<string, string>,
  env: Record<string, string> = {},
): Promise<FolderFleet> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-folder-fleet-'))
  const folders = { config: join(dir, 'config'), state: join(dir, 'state') }
  for (const folder of Object.values(folders)) mkdirSync(folder)
  const write = (name: string, yaml: string) => writeFileSync(join(folders.config, name), yaml)
  for (const [name, yaml] of Object.entries(files)) write(name, yaml)
  const sealingKeysFile = join(dir, 'sealing-keys')
  writeFileSync(sealingKeysFile, `k1:${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  const redis = await startRedis({ args: ['--appendonly', 'yes'] })
  const shared = { redisUrl: redis.url, sealingKeysFile }
  const logs = join(dir, 'log')
  const running: ManagedProcess[] = []
  const ports = await freePorts(6)
  const take = () => ports.pop() ?? 0
  const url = (port: number) => `http://127.0.0.1:${port}`

  const start = async (spec: ProgramSpec): Promise<ManagedProcess> => {
    const process = await startProcess({ ...spec, env: { ...spec.env, ...PATIENT, ...env } }, logs)
    running.push(process)
    return process
  }
  const startController = async (name: string): Promise<Member> => {
    const port = take()
    return memberOf(await start(servers.folderController(name, shared, folders, port)), url(port), logs)
  }
  const startProxy = async (name: string): Promise<ProxyMember> => {
    const [port, admin] = [take(), take()]
    const process = await start(servers.proxy(name, shared, port, admin))
    return Object.assign(memberOf(process, url(admin), logs), { base: url(port) })
  }
  const stop = async () => {
    await Promise.all(running.map((process) => endProcess(process, 'SIGTERM', 5_000)))
    await redis.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    const [controllers, proxies] = await Promise.all([
      Promise.all(['controller-1', 'controller-2'].map(startController)),
      Promise.all(['proxy-1', 'proxy-2'].map(startProxy)),
    ])
    const sides = async () => {
      const leader = await until(() => leaderOf(controllers), 'a controller to lead', LEADER_MS)
      const standby = controllers.find((controller) => controller !== leader)
      if (standby === undefined) throw new Error('there is no other controller')
      await until(async () => (await fetch(`${standby.admin}/readyz`)).ok, 'the other one to stand by')
      if ((await leaderOf([standby])) !== undefined) throw new Error('two controllers lead')
      return { leader, standby }
    }
    return { ...folders, redis, sealingKeysFile, controllers, proxies, write, sides, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
