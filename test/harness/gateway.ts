/** Starts the real program, `sluice dev`, as a child process on free ports with its own folder. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PATIENCE_MS } from '../../tools/patience-ms.ts'
import { basicEnv, NEVER_SHEDS } from './basic-env.ts'

const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))
const START_MS = 60_000

export interface RunningGateway {
  /** Without a path: http://127.0.0.1:PORT */
  base: string
  admin: string
  /** The resource folder; the gateway reloads files that change in it. */
  dir: string
  child: ChildProcess
  /** stdout and stderr so far. */
  output(): string
  /** Request log lines so far. */
  requests(): Record<string, unknown>[]
  write(name: string, yaml: string): void
  remove(name: string): void
  stop(): Promise<void>
}

/** `files` maps file names to YAML; `env` adds settings. Resolves when the gateway is ready. */
export async function startGateway(
  files: Record<string, string>,
  env: Record<string, string> = {},
): Promise<RunningGateway> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-test-'))
  const write = (name: string, yaml: string) => writeFileSync(join(dir, name), yaml)
  for (const [name, yaml] of Object.entries(files)) write(name, yaml)
  const child = spawn(process.execPath, [MAIN, 'dev'], {
    env: {
      ...basicEnv(),
      SLUICE_PORT: '0',
      SLUICE_ADMIN_PORT: '0',
      SLUICE_HOST: '127.0.0.1',
      SLUICE_CONFIG_DIR: dir,
      ...NEVER_SHEDS,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk
  })
  const exited = once(child, 'exit')
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGINT')
      await exited
    }
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    const [, base, admin] = await until(
      () => {
        if (child.exitCode !== null) throw new Error(`the gateway ended with ${child.exitCode}:\n${output}`)
        return /Base URL +http:\/\/localhost:(\d+)[\s\S]*Admin +http:\/\/localhost:(\d+)/.exec(output)
      },
      'the gateway to be ready',
      START_MS,
    )
    return {
      base: `http://127.0.0.1:${base}`,
      admin: `http://127.0.0.1:${admin}`,
      dir,
      child,
      output: () => output,
      requests: () =>
        output
          .split('\n')
          .filter((line) => line.startsWith('{') && line.includes('"kind":"request"'))
          .map((line) => JSON.parse(line) as Record<string, unknown>),
      write,
      remove: (name) => rmSync(join(dir, name)),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Polls `look` until it returns something other than undefined, null or false. Throws after `timeoutMs`. */
export async function until<T>(
  look: () => T | Promise<T>,
  what: string,
  timeoutMs = PATIENCE_MS,
  everyMs = 5,
): Promise<Exclude<T, undefined | null | false>> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== null && found !== false)
      return found as Exclude<T, undefined | null | false>
    if (performance.now() > deadline) throw new Error(`gave up after ${timeoutMs} ms waiting for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}
