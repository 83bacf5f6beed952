/** The servers that Sluice is measured beside: the upstream itself, a bare passthrough, and nginx. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePorts } from '../tools/cluster/ports.ts'
import { endProcess, type ProgramSpec, startProcess } from '../tools/cluster/process.ts'
import type { Books } from './books.ts'
import { ROOT, treeOf } from './processes.ts'
import type { LoadSpec, Upstream } from './rig.ts'
import { type Api, PATHS, type Scenario } from './scenarios.ts'

/** Files of this run. */
export const RUN = join(ROOT, '.run/bench')

export interface Target {
  name: string
  port: number
  /** The processes whose CPU and memory count. */
  pids: number[]
  redisPid?: number
  /** The API that the load generator speaks, and where. */
  api(scenario: Scenario): Api
  path(scenario: Scenario): string
  headers(scenario: Scenario): Record<string, string>
  /** The name under which it serves the scenario's answer; by default that of the gateway's route. */
  model?(scenario: Scenario): string
  /** Undefined: it serves all scenarios. */
  serves?(scenario: Scenario): boolean
  keys?: NonNullable<LoadSpec['keys']>
  /** False: it has no WebSocket, and sends the same stream as server-sent events. */
  webSocket: boolean
  /** Text of its /metrics. */
  metrics?: () => Promise<string>
  books?: Books
  stop(): Promise<void>
}

/** A server that knows neither keys nor APIs: the client calls the upstream's paths, in the upstream's API. */
function plain(name: string, port: number, pids: number[], stop: () => Promise<void>): Target {
  return {
    name,
    port,
    pids,
    api: ({ upstream }) => upstream,
    path: ({ answer, upstream }) => `/${answer}${PATHS[upstream]}`,
    headers: () => ({}),
    webSocket: false,
    stop,
  }
}

export function direct(upstream: Upstream): Target {
  return plain('direct', upstream.port, [upstream.pid], async () => undefined)
}

/** `cores`: where it runs, as taskset names them. */
export interface Options {
  cores?: string | undefined
}

export const pinned = (spec: ProgramSpec, cores: string | undefined): ProgramSpec =>
  cores === undefined
    ? spec
    : { ...spec, command: 'taskset', args: ['-c', cores, spec.command, ...spec.args] }

export async function startPassthrough(upstream: Upstream, { cores }: Options = {}): Promise<Target> {
  const script = [join(import.meta.dirname, 'passthrough.ts'), String(upstream.port)]
  const args = cores === undefined ? script : ['-c', cores, process.execPath, ...script]
  const child = spawn(cores === undefined ? process.execPath : 'taskset', args, {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const kill = () => void child.kill('SIGKILL')
  process.on('exit', kill)
  const [line]: unknown[] = await once(child.stdout, 'data')
  return plain('passthrough', Number(line), [child.pid ?? 0], async () => {
    process.off('exit', kill)
    kill()
    await once(child, 'exit')
  })
}

export async function startNginx(upstream: Upstream, { cores }: Options = {}): Promise<Target> {
  const [port = 0] = await freePorts(1)
  const dir = join(RUN, `nginx-${port}`)
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'nginx.conf'), nginxConfig(dir, port, upstream.port))
  const process = await startProcess(
    pinned(
      {
        name: 'nginx',
        command: 'nginx',
        args: ['-c', join(dir, 'nginx.conf'), '-e', join(dir, 'error.log')],
        ports: [port],
        ready: async () => (await fetch(`http://127.0.0.1:${port}/log`)).ok,
      },
      cores,
    ),
    dir,
  )
  return plain('nginx', port, treeOf(process.pid), () => endProcess(process, 'SIGTERM'))
}

const nginxConfig = (dir: string, port: number, upstreamPort: number) => `daemon off;
master_process off;
worker_rlimit_nofile 40000;
pid ${dir}/pid;
events { worker_connections 20000; }
http {
  access_log off;
  client_body_temp_path ${dir}/body;
  proxy_temp_path ${dir}/proxy;
  fastcgi_temp_path ${dir}/fastcgi;
  uwsgi_temp_path ${dir}/uwsgi;
  scgi_temp_path ${dir}/scgi;
  client_body_buffer_size 1m;
  keepalive_requests 1000000000;
  upstream bench { server 127.0.0.1:${upstreamPort}; keepalive 8192; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} backlog=8192;
    location / {
      proxy_pass http://bench;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`
