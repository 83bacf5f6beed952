/**
 * Loaded into the gateway under attack: notes the CPU time that the main thread takes between two turns of others. A
 * busy machine changes this less than the time that clients wait. SIGUSR2 writes it to the file BENCH_TURNS and begins
 * anew.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const file = process.env.BENCH_TURNS
/** Shorter turns are not noted, so that noting them costs nothing. */
const NOTED_MS = 1

const cpuMs = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

if (isMainThread && file !== undefined) {
  let turns: number[] = []
  let last = cpuMs()
  const note = () => {
    const now = cpuMs()
    if (now - last > NOTED_MS) turns.push(now - last)
    last = now
    setTimeout(() => setImmediate(note), 1).unref()
  }
  note()
  process.on('SIGUSR2', () => {
    writeFileSync(`${file}.part`, JSON.stringify(turns.sort((a, b) => b - a)))
    renameSync(`${file}.part`, file)
    turns = []
  })
}
