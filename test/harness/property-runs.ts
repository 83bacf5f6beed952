/**
 * How many cases a property tries whose every step asks another process: a tenth of FC_RUNS, at least `least`. Thousands
 * would take longer than a test may, and a property that is interrupted leaves its last case running into the next test.
 */
export function remoteRuns(least: number): number {
  return Math.max(least, Math.ceil(Number(process.env.FC_RUNS ?? 0) / 10))
}
