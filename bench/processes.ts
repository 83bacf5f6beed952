/** Processes as the kernel sees them: CPU time and memory, from proc(5). Linux only. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The checkout that this file belongs to. */
export const ROOT = join(import.meta.dirname, '..')

const CLOCK_TICKS_PER_SECOND = 100

/** User plus system CPU of a process, all threads, in microseconds; in steps of 10 ms. */
export function cpuMicros(pid: number): number {
  const fields = statOf(pid)
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / CLOCK_TICKS_PER_SECOND
}

/** Fields of /proc/<pid>/stat from the state on: the parent is the second, utime the 12th, stime the 13th. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name in parentheses may contain spaces, so fields are counted from behind it.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** A process and its descendants: programs that fork their workers are measured with them. */
export function treeOf(root: number): number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid) || !existsSync(`/proc/${pid}/stat`)) continue
    const parent = Number(statIfAlive(pid)?.[1])
    children.set(parent, [...(children.get(parent) ?? []), pid])
  }
  const tree = [root]
  for (const pid of tree) tree.push(...(children.get(pid) ?? []))
  return tree
}

/** Undefined for a process that has ended in the meantime. */
function statIfAlive(pid: number): string[] | undefined {
  try {
    return statOf(pid)
  } catch {
    return undefined
  }
}

/** Resident memory of processes together, in bytes. */
export function residentBytes(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return sum + Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024
  }, 0)
}
