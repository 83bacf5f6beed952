/** The servers beside the control plane: Redis, the example upstream, controllers and proxies. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { ProgramSpec } from './process.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Keeps its data in `dir`. Throws with the package to install if redis-server is missing. */
export function redis(dir: string, port: number): ProgramSpec {
  if (spawnSync('redis-server', ['--version']).error !== undefined)
    throw new Error('redis-server is missing (Debian: apt-get install redis-server)')
  mkdirSync(dir, { recursive: true })
  return {
    name: 'redis',
    command: 'redis-server',
    ports: [port],
    args: ['--bind', '127.0.0.1', '--port', String(port), '--dir', dir, '--appendonly', 'yes', '--save', ''],
    ready: async () => (await firstReply(port, 'PING\r\n')).startsWith('+PONG'),
  }
}

export function exampleUpstream(port: number): ProgramSpec {
  return {
    name: 'upstream',
    command: process.execPath,
    args: [join(ROOT, 'examples/upstream/main.ts'), String(port)],
    ports: [port],
    portSetting: 'UPSTREAM_PORT',
    // Any answer shows that it is ready.
    ready: async () => (await fetch(`http://127.0.0.1:${port}/`)).status > 0,
  }
}

/** Settings that controllers and proxies share. */
interface Shared {
  redisUrl: string
  sealingKeysFile: string
}

export function controller(name: string, shared: Shared, kubeconfig: string, adminPort: number): ProgramSpec {
  return sluice('controller', name, adminPort, [], {
    ...environment(name, shared, adminPort),
    KUBECONFIG: kubeconfig,
    SLUICE_NAMESPACE: 'default',
  })
}

/** A controller that needs no cluster. */
export function folderController(
  name: string,
  shared: Shared,
  folders: { config: string; state: string },
  adminPort: number,
): ProgramSpec {
  return sluice('controller', name, adminPort, [], {
    ...environment(name, shared, adminPort),
    SLUICE_CONFIG_DIR: folders.config,
    SLUICE_STATE_DIR: folders.state,
  })
}

export function proxy(name: string, shared: Shared, port: number, adminPort: number): ProgramSpec {
  return sluice('proxy', name, adminPort, [port], {
    ...environment(name, shared, adminPort),
    SLUICE_PORT: String(port),
  })
}

function sluice(
  command: string,
  name: string,
  adminPort: number,
  morePorts: number[],
  env: Record<string, string>,
): ProgramSpec {
  return {
    name,
    command: process.execPath,
    args: [join(ROOT, 'cli/main.ts'), command],
    env,
    ports: [adminPort, ...morePorts],
    ready: async () => (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).ok,
  }
}

function environment(name: string, shared: Shared, adminPort: number): Record<string, string> {
  return {
    SLUICE_HOST: '127.0.0.1',
    SLUICE_ADMIN_PORT: String(adminPort),
    SLUICE_INSTANCE: name,
    SLUICE_REDIS_URL: shared.redisUrl,
    SLUICE_SEALING_KEYS_FILE: shared.sealingKeysFile,
  }
}

async function firstReply(port: number, command: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', timeout: 1_000 })
  try {
    socket.write(command)
    const [reply]: unknown[] = await once(socket, 'data', { signal: AbortSignal.timeout(1_000) })
    return String(reply)
  } finally {
    socket.destroy()
  }
}
