/** The strings in a program's memory, read from V8 heap snapshots. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { until } from './gateway.ts'

const SNAPSHOT_MS = 30_000
const snapshot = z.object({ strings: z.array(z.string()) })

export interface HeapWatch {
  /** Environment for the program to watch. */
  env: { NODE_OPTIONS: string }
  /** The strings that are still reachable after a garbage collection; long ones may be truncated. */
  strings(child: ChildProcess): Promise<string[]>
  remove(): void
}

export function watchHeap(): HeapWatch {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-heap-'))
  const read = () => {
    const [name] = readdirSync(dir).filter((file) => file.endsWith('.heapsnapshot'))
    if (name === undefined) return undefined
    try {
      return snapshot.parse(JSON.parse(readFileSync(join(dir, name), 'utf8'))).strings
    } catch (error) {
      // The file is still being written.
      if (error instanceof SyntaxError) return undefined
      throw error
    }
  }
  return {
    env: { NODE_OPTIONS: `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${dir}` },
    async strings(child) {
      for (const file of readdirSync(dir)) rmSync(join(dir, file))
      child.kill('SIGUSR2')
      return until(read, 'the snapshot', SNAPSHOT_MS)
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}
