/**
 * How long a test waits for an expected event, in milliseconds. It is long because a busy machine is slow. Runs that
 * expect failures set TEST_PATIENCE_MS to a shorter time.
 */
export const PATIENCE_MS = Number(process.env.TEST_PATIENCE_MS ?? 30_000)
