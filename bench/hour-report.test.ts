import { expect, test } from 'vitest'
import { hourTable } from './hour-report.ts'
import type { HourLine } from './raw.ts'

const MB = 1e6

function line(target: string, minutes: number[], rest: Partial<HourLine> = {}): HourLine {
  const memory = { idle: 100 * MB, minutes: minutes.map((mb) => mb * MB), recovered: 110 * MB }
  return { kind: 'hour', target, requests: 5_000, ...memory, ...rest }
}

test('a row has the memory at each shown minute, the most of any minute, and that after the load', () => {
  const minutes = Array.from({ length: 10 }, (_, n) => 200 + n)
  minutes[6] = 900
  expect(hourTable([line('a', minutes)]).split('\n')).toEqual([
    '| Resident MB | requests | idle | 1 min | 5 min | 10 min | most | a minute later |',
    '| --- | --: | --: | --: | --: | --: | --: | --: |',
    '| a | 5000 | 100 | 200 | 204 | 209 | 900 | 110 |',
  ])
})

test('a load that ended early is marked, and leaves its last minutes empty', () => {
  const [, , , cut] = hourTable([
    line('a', [200, 201, 202, 203, 204]),
    line('b', [300], { void: '3 × status 503' }),
  ]).split('\n')
  expect(cut).toBe('| b (void) | 5000 | 100 | 300 | – | 300 | 110 |')
})
