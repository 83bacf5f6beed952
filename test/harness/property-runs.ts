/**
 * Number of cases for a property whose every step calls another process: a tenth of FC_RUNS, at least `least`. Thousands
 * would exceed the test's time limit, and an interrupted property leaves its last case running into the next test.
 */
export function remoteRuns(least: number): number {
  return Math.max(least, Math.ceil(Number(process.env.FC_RUNS ?? 0) / 10))
}
