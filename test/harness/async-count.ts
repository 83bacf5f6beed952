/** What a program makes while it serves: promises, timers and other resources, as async_hooks count them. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { type RunningGateway, until } from './gateway.ts'

const counter = join(import.meta.dirname, 'async-counter.ts')
const counts = z.record(z.string(), z.number())

export interface AsyncCounter {
  /** Environment for the program to watch. */
  env: { NODE_OPTIONS: string; ASYNC_COUNT: string }
  /** By type, such as PROMISE and Timeout: what the program made during `work`. */
  during(gateway: RunningGateway, work: () => Promise<unknown>): Promise<Record<string, number>>
  remove(): void
}

export function countAsync(): AsyncCounter {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-async-'))
  const file = join(dir, 'counts')
  return {
    env: { NODE_OPTIONS: `--import=${counter}`, ASYNC_COUNT: file },
    async during({ child }, work) {
      for (const old of [file, `${file}.begun`]) rmSync(old, { force: true })
      child.kill('SIGUSR2')
      await until(() => existsSync(`${file}.begun`), 'the count to begin')
      await work()
      child.kill('SIGUSR2')
      await until(() => existsSync(file), 'the count')
      return counts.parse(JSON.parse(readFileSync(file, 'utf8')))
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}
