/**
 * How long a test waits for what must come: long, because a busy machine is slow, and what is missing is missing for
 * good. Runs that expect failures set TEST_PATIENCE_MS.
 */
export const PATIENCE_MS = Number(process.env.TEST_PATIENCE_MS ?? 30_000)
