/** Milliseconds as PX takes them: a whole number, at least 1. */
export function lifetime(ttlMs: number): number {
  return Math.max(1, Math.ceil(ttlMs))
}
