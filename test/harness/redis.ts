/** Real Redis servers for tests: one, or a Cluster of three, with a clock that moves when told where a test asks for it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { until } from './gateway.ts'
import { freePort } from './program.ts'

const START_MS = 60_000
const SLOTS = 16_384

export interface RunningRedis {
  url: string
  port: number
  /** Of the process that runs now. */
  pid(): number
  /** One command, as an administrator; replies as ioredis gives them. */
  command(name: string, ...args: (string | number)[]): Promise<unknown>
  /** SIGSTOP: the port still takes connections, and nothing is answered. */
  pause(): void
  resume(): void
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>
  /** Starts it again on its port, after `kill`; or ends it first. */
  restart(): Promise<void>
  /** Ends it and removes its files. */
  stop(): Promise<void>
}

export interface RedisOptions {
  /** More of the command line, such as ['--appendonly', 'yes']. */
  args?: string[]
  clock?: Clock | undefined
}

/** Without persistence, in a folder of its own. Resolves when it answers. */
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
    async stop() {
      admin.disconnect()
      await end()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

export interface RunningCluster {
  /** All nodes, separated by commas. */
  url: string
  nodes: RunningRedis[]
  /** Empties all nodes. */
  flush(): Promise<void>
  stop(): Promise<void>
}

/** Three primaries without replicas, which share the slots. Resolves when all of them say that the Cluster is whole. */
export async function startRedisCluster({ args = [], clock }: RedisOptions = {}): Promise<RunningCluster> {
  // Not the port + 10,000 that is the default, which may be none.
  const buses = await Promise.all([freePort(), freePort(), freePort()])
  const modes = buses.map((bus) => ['--cluster-enabled', 'yes', '--cluster-port', `${bus}`])
  const timeout = ['--cluster-node-timeout', '2000']
  const nodes = await Promise.all(
    modes.map((mode) => startRedis({ args: [...mode, ...timeout, ...args], clock })),
  )
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()))
  }
  try {
    const [first] = nodes
    for (const [i, node] of nodes.entries()) {
      const bound = (n: number) => Math.floor((n * SLOTS) / nodes.length)
      await node.command('CLUSTER', 'ADDSLOTSRANGE', bound(i), bound(i + 1) - 1)
      await node.command('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
      if (first !== undefined && node !== first)
        await node.command('CLUSTER', 'MEET', '127.0.0.1', first.port, buses[0] ?? 0)
    }
    const isWhole = async () => {
      // Nodes make friends by their clocks.
      clock?.advance(100)
      const infos = await Promise.all(nodes.map((node) => node.command('CLUSTER', 'INFO')))
      return infos.every((info) =>
        /cluster_state:ok[\s\S]*cluster_slots_ok:16384[\s\S]*cluster_known_nodes:3/.test(String(info)),
      )
    }
    await until(isWhole, 'the Cluster to be whole', START_MS)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    url: nodes.map(({ url }) => url).join(','),
    nodes,
    async flush() {
      await Promise.all(nodes.map((node) => node.command('FLUSHALL')))
    },
    stop,
  }
}

/** Wall-clock time of servers, which stands still until it is moved; their timers run on. */
export interface Clock {
  advance(ms: number): void
  /** What servers that shall follow it need in their environment. */
  env: Record<string, string>
  remove(): void
}

/** Debian's package faketime has the library. */
const FAKETIME = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map(
  (machine) => `/usr/lib/${machine}/faketime/libfaketime.so.1`,
)

/** A clock that begins in 2030. Fails when libfaketime is not installed. */
export function createClock(): Clock {
  const library = FAKETIME.find(existsSync)
  if (library === undefined) throw new Error('libfaketime is missing: apt-get install faketime')
  const libc = join(library, '../../libc.so.6')
  const dir = mkdtempSync(join(tmpdir(), 'sluice-clock-'))
  const file = join(dir, 'now')
  let now = Date.UTC(2030, 0, 1)
  const tell = () => {
    // Half a millisecond more, because the library reads the fraction as a float. A rename, so that none is read half.
    const text = new Date(now).toISOString().replace('T', ' ').replace('Z', '5')
    writeFileSync(`${file}.new`, text)
    renameSync(`${file}.new`, file)
  }
  tell()
  return {
    advance(ms) {
      now += ms
      tell()
    },
    env: {
      // libc again, so that memory comes from there: jemalloc asks for the time before the library can tell it.
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
