/** A process's use of the machine, from proc(5). Linux only. */
import { readFileSync } from 'node:fs'

/** Resident memory in MB (10^6 bytes): now, and at its peak. */
export function memoryOf(pid: number): { rss: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const of = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1.024e-3
  return { rss: of('VmRSS'), peak: of('VmHWM') }
}
