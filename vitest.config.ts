import { defineConfig } from 'vitest/config'

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
    setupFiles: ['./tools/property-runs.ts'],
    // A test that hangs is a failure soon, and a slow machine is not.
    testTimeout: 20_000,
    hookTimeout: 30_000,
    // Wall-clock tests starve each other beyond this.
    maxWorkers: 2,
  },
})
