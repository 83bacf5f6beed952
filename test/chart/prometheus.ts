/** A real Prometheus that scrapes these addresses twice a second, with the chart's alerts. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { z } from 'zod'
import { until } from '../harness/gateway.ts'
import { endProgram, freePort, startProgram } from '../harness/program.ts'
import { CHART } from './helm.ts'

export interface Prometheus {
  /** Health of each target by its address. */
  targets(): Promise<Record<string, string>>
  /** The values of an instant query, by instance. */
  query(expression: string): Promise<Record<string, number>>
  stop(): Promise<void>
}

const targets = z.object({
  data: z.object({
    activeTargets: z.array(z.object({ labels: z.record(z.string(), z.string()), health: z.string() })),
  }),
})
const vector = z.object({
  data: z.object({
    result: z.array(
      z.object({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string()]) }),
    ),
  }),
})

/** `jobs` maps a job to base URLs of admin ports. */
export const startPrometheus = (jobs: Record<string, string[]>): Promise<Prometheus> =>
  startPrometheusWith(
    Object.entries(jobs).map(([job, urls]) => ({
      job_name: job,
      static_configs: [{ targets: urls.map((url) => new URL(url).host), labels: { namespace: 'gateway' } }],
    })),
  )

/** With these scrape_configs. */
export async function startPrometheusWith(scrapeConfigs: object[]): Promise<Prometheus> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-prometheus-'))
  const port = await freePort()
  const configuration = {
    global: { scrape_interval: '500ms', scrape_timeout: '500ms', evaluation_interval: '1s' },
    rule_files: [join(CHART, 'files', 'rules.yaml')],
    scrape_configs: scrapeConfigs,
  }
  const file = join(dir, 'prometheus.yaml')
  writeFileSync(file, stringify(configuration))
  const program = startProgram('prometheus', [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(dir, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ])
  const query = async (path: string): Promise<unknown> =>
    (await fetch(`http://127.0.0.1:${port}${path}`)).json()
  const stop = async () => {
    await endProgram(program)
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    await program.printed(/Server is ready to receive web requests/)
    await until(async () => (await fetch(`http://127.0.0.1:${port}/-/ready`)).ok, 'Prometheus')
  } catch (error) {
    await stop()
    throw error
  }
  return {
    targets: async () => {
      const { activeTargets } = targets.parse(await query('/api/v1/targets?state=active')).data
      return Object.fromEntries(activeTargets.map(({ labels, health }) => [labels.instance, health]))
    },
    query: async (expression) => {
      const { result } = vector.parse(
        await query(`/api/v1/query?query=${encodeURIComponent(expression)}`),
      ).data
      return Object.fromEntries(result.map(({ metric, value }) => [metric.instance ?? '', Number(value[1])]))
    },
    stop,
  }
}
