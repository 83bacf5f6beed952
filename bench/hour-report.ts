/** The table of an hour of load: resident memory at some of its minutes, and after it. */
import type { RawLine } from './raw.ts'
import { linesOf, short, tableOf } from './report.ts'

const MINUTES = [1, 5, 10, 20, 30, 40, 50, 60]

export function hourTable(lines: readonly RawLine[]): string {
  const all = linesOf(lines, 'hour')
  const last = Math.max(0, ...all.map(({ minutes }) => minutes.length))
  const shown = MINUTES.filter((minute) => minute <= last)
  const mb = (bytes: number | undefined) => short((bytes ?? Number.NaN) / 1e6)
  const rows = all.map(({ target, requests, idle, minutes, recovered, void: reason }) => [
    reason === undefined ? target : `${target} (void)`,
    String(requests),
    ...[idle, ...shown.map((minute) => minutes[minute - 1]), Math.max(...minutes), recovered].map(mb),
  ])
  const head = [
    'Resident MB',
    'requests',
    'idle',
    ...shown.map((minute) => `${minute} min`),
    'most',
    'a minute later',
  ]
  return tableOf(head, rows)
}
