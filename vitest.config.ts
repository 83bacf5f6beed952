import { defineConfig } from 'vitest/config'
import { PATIENCE_MS } from './tools/patience-ms.ts'

export default defineConfig({
  test: {
    include: ['**/*.test.ts'],
    exclude: [
      '**/node_modules/**',
      'dist/**',
      '.run/**',
      '.venv/**',
      // Minutes of faults under traffic, with a machine to themselves: make test-all.
      ...(process.env.CHAOS_ROUNDS === undefined ? ['test/chaos/**'] : []),
    ],
    globalSetup: ['./test/global/control-plane.ts'],
    setupFiles: ['./tools/property-runs.ts', './tools/patience.ts'],
    // Long enough for a machine that does other work as well.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: PATIENCE_MS } },
    // Many tests wait for other processes: one more than the usual cores keeps the machine busy.
    maxWorkers: 3,
  },
})
