/** Bifrost's HTTP transport: the program that BIFROST names. Its package on npm only downloads it from a site of its own. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../tools/cluster/ports.ts'
import type { Scenario } from '../scenarios.ts'
import { RUN } from '../targets.ts'
import { answers, type Peer, startPeer } from './peer.ts'

/** A provider of its own for each answer of the upstream. */
const providerOf = ({ answer }: Pick<Scenario, 'answer'>) => `bench-${answer}`

export const startBifrost: Peer = async (upstream, scenarios) => {
  const command = process.env.BIFROST
  if (command === undefined) throw new Error('BIFROST must name its program, bifrost-http')
  const port = await freePort()
  const dir = join(RUN, `bifrost-${port}`)
  mkdirSync(dir, { recursive: true })
  const providers = scenarios
    .filter((scenario) => scenario.upstream === 'chat')
    .map((scenario) => [
      providerOf(scenario),
      {
        keys: [{ value: 'none', models: ['bench-upstream'], weight: 1 }],
        network_config: { base_url: `http://127.0.0.1:${upstream.port}/${scenario.answer}` },
        custom_provider_config: { base_provider_type: 'openai' },
      },
    ])
  writeFileSync(join(dir, 'config.json'), JSON.stringify({ providers: Object.fromEntries(providers) }))
  return startPeer({
    name: 'Bifrost',
    port,
    spec: {
      name: 'bifrost',
      command,
      args: ['-app-dir', dir, '-host', '127.0.0.1', '-port', String(port), '-log-level', 'error'],
      ports: [port],
      ready: () => answers(`http://127.0.0.1:${port}/health`),
    },
    headers: () => ({}),
    model: (scenario) => `${providerOf(scenario)}/bench-upstream`,
    serves: (scenario) => scenario.upstream === 'chat' && scenario.client === 'chat',
  })
}
