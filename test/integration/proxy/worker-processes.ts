/** Processes of `sluice proxy --workers`, from proc(5). Linux only. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** The workers of a first process. */
export function workersOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}

/** How many connections that clients have opened to this port a process serves. */
export function connectionsOf(pid: number, port: number): number {
  const open = new Set<string>()
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? []
      if (inode !== undefined) open.add(inode)
    } catch {
      // Closed meanwhile.
    }
  }
  const ESTABLISHED = '01'
  const own = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)
  return lines.filter((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
    return local.endsWith(own) && state === ESTABLISHED && open.has(inode)
  }).length
}
