/** Real Redis servers for tests: a single one or a Cluster of three, optionally with a clock that the test controls. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { NEVER_SHEDS } from './basic-env.ts'
import { until } from './gateway.ts'
import { freePort } from './program.ts'

const START_MS = 60_000
const SLOTS = 16_384

export interface RunningRedis {
  url: string
  port: number
  /** Of the current process. */
  pid(): number
  /** Runs a command as an administrator; returns the reply as ioredis does. */
  command(name: string, ...args: (string | number)[]): Promise<unknown>
  /** SIGSTOP: the port still accepts connections, but no command is answered. */
  pause(): void
  resume(): void
  /** SIGKILL; resolves when the process has exited. */
  kill(): Promise<void>
  /** Restarts it on its port; kills it first if it is running. */
  restart(): Promise<void>
  /** Keeps a copy of its files; it must write them (--appendonly yes). */
  copyFiles(): void
  /** Restarts it with the files of the last copy. */
  restartFromCopy(): Promise<void>
  /** Kills it and removes its files. */
  stop(): Promise<void>
}

export interface RedisOptions {
  /** More arguments, such as ['--appendonly', 'yes']. */
  args?: string[]
  clock?: Clock | undefined
}

/**
 * Settings of proxies and controllers in tests of anything but time-out and overload: a busy machine can stop Redis for
 * longer than the default of 250 ms, and an event loop for longer than 500, and then a request is 503.
 */
export const PATIENT = { SLUICE_REDIS_TIMEOUT: '30s', ...NEVER_SHEDS }
/** The default, for tests in which Redis stops answering. */
export const IMPATIENT = { SLUICE_REDIS_TIMEOUT: '250ms' }

/** Without persistence, in its own folder. Resolves when it accepts commands. */
export async function startRedis({ args = [], clock }: RedisOptions = {}): Promise<RunningRedis> {
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), 'sluice-redis-'))
  const commandLine = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', dir, '--save', '', ...args]
  const admin = new Redis({ port, host: '127.0.0.1', lazyConnect: true, retryStrategy: () => 20 })
  admin.on('error', () => undefined)

  const start = async () => {
    const child = spawn('redis-server', commandLine, {
      env: { PATH: process.env.PATH, ...clock?.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const take = (chunk: Buffer) => {
      output += chunk
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    const leave = () => void child.kill('SIGKILL')
    process.once('exit', leave)
    const exited = once(child, 'exit').finally(() => process.off('exit', leave))
    const ready = () => {
      if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}:\n${output}`)
      return output.includes('Ready to accept connections')
    }
    await until(ready, `redis-server on port ${port}`, START_MS)
    return { child, exited }
  }
  let running = await start()
  const end = async () => {
    running.child.kill('SIGKILL')
    await running.exited
  }
  const copy = `${dir}-copy`
  const removeFiles = () => {
    for (const path of [dir, copy]) rmSync(path, { recursive: true, force: true })
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    pid: () => running.child.pid ?? 0,
    command: (name, ...rest) => admin.call(name, ...rest),
    pause: () => void running.child.kill('SIGSTOP'),
    resume: () => void running.child.kill('SIGCONT'),
    kill: end,
    async restart() {
      await end()
      running = await start()
    },
    copyFiles() {
      rmSync(copy, { recursive: true, force: true })
      cpSync(dir, copy, { recursive: true })
    },
    async restartFromCopy() {
      await end()
      rmSync(dir, { recursive: true, force: true })
      cpSync(copy, dir, { recursive: true })
      running = await start()
    },
    async stop() {
      admin.disconnect()
      await end()
      removeFiles()
    },
  }
}

export interface RunningCluster {
  /** All primaries, separated by commas. */
  url: string
  /** The primaries at the start. */
  nodes: RunningRedis[]
  /** A replica of each, if there are any. */
  replicas: RunningRedis[]
  /** Whether every node is known to be up, and every primary has a replica that follows it. */
  mayLoseOne(): Promise<boolean>
  /** Empties all nodes. */
  flush(): Promise<void>
  stop(): Promise<void>
}

interface ClusterOptions extends RedisOptions {
  /** Each primary has a replica, which takes over when its primary is away. */
  withReplicas?: boolean
}

/** Three primaries that share the slots. Resolves when all of them report a complete Cluster. */
export async function startRedisCluster(options: ClusterOptions = {}): Promise<RunningCluster> {
  const { args = [], clock, withReplicas = false } = options
  const count = withReplicas ? 6 : 3
  // The default, the port + 10,000, may be beyond the largest port.
  const buses = await Promise.all(Array.from({ length: count }, freePort))
  const modes = buses.map((bus) => ['--cluster-enabled', 'yes', '--cluster-port', `${bus}`])
  const timeout = ['--cluster-node-timeout', '2000']
  const all = await Promise.all(
    modes.map((mode) => startRedis({ args: [...mode, ...timeout, ...args], clock })),
  )
  const [nodes, replicas] = [all.slice(0, 3), all.slice(3)]
  const stop = async () => {
    await Promise.all(all.map((node) => node.stop()))
  }
  try {
    const [first] = nodes
    for (const [i, node] of nodes.entries()) {
      const bound = (n: number) => Math.floor((n * SLOTS) / nodes.length)
      await node.command('CLUSTER', 'ADDSLOTSRANGE', bound(i), bound(i + 1) - 1)
      await node.command('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
    }
    for (const node of all.slice(1))
      await node.command('CLUSTER', 'MEET', '127.0.0.1', first?.port ?? 0, buses[0] ?? 0)
    const isWhole = async () => {
      // Nodes join by their clocks.
      clock?.advance(100)
      const infos = await Promise.all(all.map(async (node) => String(await node.command('CLUSTER', 'INFO'))))
      return infos.every(
        (info) =>
          info.includes('cluster_state:ok') &&
          info.includes('cluster_slots_ok:16384') &&
          info.includes(`cluster_known_nodes:${count}`),
      )
    }
    await until(isWhole, 'the Cluster to be whole', START_MS)
    for (const [i, replica] of replicas.entries())
      await replica.command('CLUSTER', 'REPLICATE', String(await nodes[i]?.command('CLUSTER', 'MYID')))
    if (withReplicas) await until(() => mayLoseOne(all), 'the replicas to follow', START_MS)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    url: nodes.map(({ url }) => url).join(','),
    nodes,
    replicas,
    mayLoseOne: () => mayLoseOne(all),
    async flush() {
      await Promise.all(nodes.map((node) => node.command('FLUSHALL')))
    },
    stop,
  }
}

async function mayLoseOne(all: readonly RunningRedis[]): Promise<boolean> {
  const looks = all.map(async (node) => {
    const view = String(await node.command('CLUSTER', 'NODES'))
    const info = String(await node.command('INFO', 'replication'))
    return !/fail|handshake/.test(view) && /master_link_status:up|slave0:.*state=online/.test(info)
  })
  return (await Promise.all(looks).catch(() => [false])).every((well) => well)
}

/** Wall-clock time of servers that stands still until it is advanced; their timers keep running. */
export interface Clock {
  advance(ms: number): void
  /** Environment of servers that use this clock. */
  env: Record<string, string>
  remove(): void
}

/** From Debian's package faketime. */
const FAKETIME = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map(
  (machine) => `/usr/lib/${machine}/faketime/libfaketime.so.1`,
)

/** A clock that starts in 2030. Throws if libfaketime is not installed. */
export function createClock(): Clock {
  const library = FAKETIME.find(existsSync)
  if (library === undefined) throw new Error('libfaketime is missing: apt-get install faketime')
  const libc = join(library, '../../libc.so.6')
  const dir = mkdtempSync(join(tmpdir(), 'sluice-clock-'))
  const file = join(dir, 'now')
  let now = Date.UTC(2030, 0, 1)
  const writeTime = () => {
    // Half a millisecond more, because the library parses the fraction as a float. Renamed, so that no server reads half.
    const text = new Date(now).toISOString().replace('T', ' ').replace('Z', '5')
    writeFileSync(`${file}.new`, text)
    renameSync(`${file}.new`, file)
  }
  writeTime()
  return {
    advance(ms) {
      now += ms
      writeTime()
    },
    env: {
      // libc too, so that malloc comes from it: jemalloc reads the time before the library is ready.
      LD_PRELOAD: `${library}:${libc}`,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
      TZ: 'UTC',
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}
