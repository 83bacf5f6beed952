/** Starts the example folders as their first lines say. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunningGateway, startGateway } from './gateway.ts'
import { ROOT } from './program.ts'

const FOLDER = join(ROOT, 'examples')

/** As in examples/quickstart/3-clients.yaml. */
export const QUICKSTART_KEY = 'sk-quickstart-0123456789abcdef'

/**
 * Example folders for `sluice dev`. `cluster` needs a cluster (test/e2e/up.test.ts), `compose` is several programs
 * (test/e2e/compose.test.ts), and `ingress` has values of the chart (test/chart/ingress.test.ts).
 */
const OTHERS = ['cluster', 'compose', 'ingress']

export const exampleNames = (): string[] =>
  readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .filter((name) => !OTHERS.includes(name))
    .filter((name) => readdirSync(join(FOLDER, name)).some((file) => file.endsWith('.yaml')))

export const exampleText = (example: string, file: string): string =>
  readFileSync(join(FOLDER, example, file), 'utf8')

/** Starts an example in place; the quickstart starts its upstream on a free port. */
export const startExample = (example: string, env: Record<string, string> = {}): Promise<RunningGateway> =>
  startGateway({}, { SLUICE_CONFIG_DIR: join(FOLDER, example), UPSTREAM_PORT: '0', ...env })
