/** Faults of the workers of a proxy, and of its start. */
import { faults, type Mutant } from '../fault.ts'

const WORKERS = 'test/integration/proxy/workers.test.ts'

export const WORKERS_FAULTS: Mutant[] = [
  ...faults(
    'cli/workers/summed-metrics.ts',
    'cli/workers/summed-metrics.test.ts',
    // Sums shrink with a worker, which Prometheus takes for a restart and counts everything again.
    ['if (last.length > 0) this.#past = [...this.#past, ...last]', ''],
    // A worker that is gone still has requests in flight.
    ['?.filter(({ type }) => LASTING.has(type))', ''],
    // The requests of a worker that has ended are counted twice.
    ['this.#newest.delete(worker)', ''],
  ),
  ...faults(
    'proxy/telemetry/metrics.ts',
    'cli/workers/summed-metrics.test.ts',
    // Two workers that do not reach Redis look like one that does.
    ["() => (gauges.storeAvailable() ? 1 : 0),\n      'min',", '() => (gauges.storeAvailable() ? 1 : 0),'],
    // A channel that two workers have ejected counts as two.
    ["aggregator: 'max',", ''],
  ),
  // The lines of workers are mixed.
  ...faults('cli/workers/whole-lines.ts', 'cli/workers/whole-lines.test.ts', [
    "text.lastIndexOf('\\n')",
    "text.indexOf('\\n')",
  ]),
  ...faults(
    'cli/workers/member.ts',
    WORKERS,
    // A worker that has ended is missing for ever.
    ['this.#restart = setTimeout(() => this.#fork(), restartMs)', ''],
  ),
  ...faults(
    'cli/process.ts',
    WORKERS,
    // A service manager signals every process: the order of the first one and the signal would end a worker at once.
    ['signals += 1', 'signals += stopping ? 2 : 1'],
  ),
  // Workers that are all full pass a connection to each other for ever.
  ...faults('proxy/server/connection-bounds.ts', WORKERS, [
    'dropMaxConnection: true',
    'dropMaxConnection: false',
  ]),
  // The relay reaches the metrics of the gateway.
  ...faults('proxy/open/edge.ts', WORKERS, ['sharedAdminPort ?? 0])', '0])']),
  // Every proxy loads the parser of the command line.
  ...faults('cli/main.ts', 'test/integration/proxy/start.test.ts', [
    "argv.length === 1 && argv[0] === 'proxy'",
    'argv.length < 0',
  ]),
]
