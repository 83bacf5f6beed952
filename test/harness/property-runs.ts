/**
 * Number of cases for a property whose every step calls another process: a tenth of FC_RUNS, at least `least`. Thousands
 * would exceed the test's time limit, and an interrupted property leaves its last case running into the next test.
 */
export function remoteRuns(least: number): number {
  return Math.max(least, Math.ceil(Number(process.env.FC_RUNS ?? 0) / 10))
}

/**
 * Number of sequences for the model of the ledger: LEDGER_RUNS, which counts for every store, or else `otherwise`. With Redis
 * a thousand take about a minute.
 */
export function ledgerRuns(otherwise: number): { numRuns: number; timeLimitMs: number } {
  const numRuns = Number(process.env.LEDGER_RUNS ?? otherwise)
  return { numRuns, timeLimitMs: Math.max(600_000, numRuns * 1_000) }
}
