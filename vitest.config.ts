import { defineConfig } from 'vitest/config'
import { PATIENCE_MS } from './tools/patience-ms.ts'

/** Tests with modules that they replace, so no other test may share their process. */
const MOCKING = [
  'cli/command-line.test.ts',
  'controller/source/folder/swapped.test.ts',
  'proxy/outbound/checked.test.ts',
  'proxy/server/overload.test.ts',
]

const shared = {
  setupFiles: ['./tools/property-runs.ts', './tools/patience.ts'],
  // Long enough for a machine that does other work as well.
  testTimeout: 90_000,
  hookTimeout: 90_000,
  expect: { poll: { timeout: PATIENCE_MS } },
}

/** Tests that take minutes run only when their setting says how much of them: `make test-all`. */
const without = (setting: string, tests: string) => (process.env[setting] === undefined ? [tests] : [])

export default defineConfig({
  test: {
    // Many tests wait for other processes: twice the usual cores keeps the machine busy.
    maxWorkers: 4,
    projects: [
      {
        test: {
          ...shared,
          name: 'rooms',
          include: ['{kit,contract,store,controller,proxy,cli,tools}/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...MOCKING],
          // Hundreds of short files, which would otherwise load the same modules again and again.
          isolate: false,
        },
      },
      {
        test: {
          ...shared,
          name: 'parts',
          include: ['{admin,bench,examples,test}/**/*.test.ts', ...MOCKING],
          exclude: [
            '**/node_modules/**',
            ...without('CHAOS_ROUNDS', 'test/chaos/**'),
            ...without('SOAK_MINUTES', 'test/soak/**'),
            ...without('INSTALL_AWAY_SECONDS', 'test/install/install.test.ts'),
            ...without('AGENTS', 'test/e2e/agents/**'),
            ...without('SCALE_KEYS', 'test/scale/{keys,ledger}.test.ts'),
          ],
          globalSetup: ['./test/global/control-plane.ts'],
        },
      },
    ],
  },
})
