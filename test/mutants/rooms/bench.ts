/** Faults of the benchmarks: figures that look right and are not. */
import { faults, type Mutant } from '../fault.ts'

export const BENCH: Mutant[] = [
  ...faults(
    'bench/books.ts',
    'bench/books.test.ts',
    // A line that was half written at a look is lost.
    ["      this.#partial = lines.pop() ?? ''\n", "      lines.pop()\n      this.#partial = ''\n"],
    // Money that the ledger lacks is not noticed.
    ['    spent: cost,\n', '    spent: now.spent - before.spent,\n'],
  ),
  ...faults(
    'bench/measure.ts',
    'bench/measure.test.ts',
    // Requests that never reached the upstream count.
    ['if (served !== done.requests)', 'if (served < 0)'],
    // A round counts whatever the books say.
    ['if (difference !== undefined) problems.push(difference)', 'void difference'],
  ),
  ...faults(
    'bench/report.ts',
    'bench/report.test.ts',
    // A void round moves the median.
    ['this.#rounds.get(line.scenario)?.delete(line.round)', 'void line'],
    // The Redis of the gateway is free.
    ['(a.cpuMicros + (a.redisMicros ?? 0))', 'a.cpuMicros'],
  ),
  // A gateway that fails every request passes the check.
  ...faults('bench/verdict.ts', 'bench/verdict.test.ts', [
    'if (kept.length === 0) worse.push',
    'if (kept.length < 0) worse.push',
  ]),
  // A loss is not shown.
  ...faults('bench/losses.ts', 'bench/report.test.ts', ['ratio(other) < ratio(own)', 'ratio(other) < 1']),
  ...faults(
    'bench/yardstick.ts',
    'bench/report.test.ts',
    // Refused requests are fast ones.
    ['failures === 0 && p99Micros', 'p99Micros'],
    // A rung that stalls counts, if a later one does not.
    ['rungs.findIndex(', 'rungs.findLastIndex('],
  ),
  ...faults('bench/docs.ts', 'bench/docs.test.ts', [
    // A table that has no place in the page is left out silently.
    'if (!place.test(result)) throw',
    'if (!place.test(result) && result === page && name.length > 9) throw',
  ]),
  ...faults('bench/rig/load.go', 'bench/rig.test.ts', [
    // Requests that were due while others were slow seem to be fast.
    '	if wait := time.Until(due); wait > 0 {',
    '	if wait := time.Until(due); wait > -time.Hour {',
  ]),
  ...faults('bench/rig/events.go', 'bench/rig.test.ts', [
    // A stream that was cut is taken for a whole one.
    '	if !e.ended {',
    '	if false {',
  ]),
]
