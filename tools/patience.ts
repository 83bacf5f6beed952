/**
 * Makes tests wait longer for a condition than the runner's one second, because a busy machine may do no work in a
 * second.
 */
import { vi } from 'vitest'
import { PATIENCE_MS } from './patience-ms.ts'

const PATIENCE = { timeout: PATIENCE_MS }

for (const wait of ['waitFor', 'waitUntil'] as const) {
  const original: (look: () => unknown, options?: object) => Promise<unknown> = vi[wait]
  Object.assign(vi, {
    [wait]: (look: () => unknown, options?: number | object) =>
      original(look, typeof options === 'number' ? { timeout: options } : { ...PATIENCE, ...options }),
  })
}
