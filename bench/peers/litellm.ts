/** LiteLLM's proxy from PyPI, with its master key; keys with budgets would need Postgres. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../tools/cluster/ports.ts'
import { modelOf, type Scenario } from '../scenarios.ts'
import { RUN } from '../targets.ts'
import { answers, folderOf, install, type Peer, startPeer } from './peer.ts'

const MASTER_KEY = 'sk-bench-0123456789abcdef'
/** Its names of the upstreams' APIs, and what it appends to the address. */
const PROVIDERS = { chat: ['openai', '/v1'], messages: ['anthropic', ''] } as const

function modelsOf(port: number, scenarios: readonly Scenario[]): object[] {
  return scenarios.flatMap(({ upstream, answer }) => {
    if (upstream !== 'chat' && upstream !== 'messages') return []
    const [provider, version] = PROVIDERS[upstream]
    return {
      model_name: modelOf(upstream, answer),
      litellm_params: {
        model: `${provider}/bench-upstream`,
        api_base: `http://127.0.0.1:${port}/${answer}${version}`,
        api_key: 'none',
      },
    }
  })
}

export const startLiteLLM: Peer = async (upstream, scenarios) => {
  const folder = folderOf('litellm')
  install(folder, [
    ['python3', '-m', 'venv', 'venv'],
    ['venv/bin/pip', 'install', '--quiet', '--disable-pip-version-check', 'litellm[proxy]'],
  ])
  const port = await freePort()
  const dir = join(RUN, `litellm-${port}`)
  mkdirSync(dir, { recursive: true })
  const config = {
    model_list: modelsOf(upstream.port, scenarios),
    general_settings: { master_key: MASTER_KEY },
    litellm_settings: { num_retries: 0, telemetry: false },
  }
  // JSON is YAML.
  writeFileSync(join(dir, 'config.yaml'), JSON.stringify(config))
  return startPeer({
    name: 'LiteLLM',
    port,
    spec: {
      name: 'litellm',
      command: join(folder, 'venv/bin/litellm'),
      args: ['--config', join(dir, 'config.yaml'), '--port', String(port), '--host', '127.0.0.1'],
      env: {
        LITELLM_MODE: 'PRODUCTION',
        LITELLM_LOG: 'ERROR',
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
        // All tokens of the upstream are the same; it would take that for a model that repeats itself.
        REPEATED_STREAMING_CHUNK_LIMIT: '1000000',
      },
      ports: [port],
      ready: () => answers(`http://127.0.0.1:${port}/health/liveliness`),
    },
    headers: () => ({ authorization: `Bearer ${MASTER_KEY}` }),
    model: ({ upstream, answer }) => modelOf(upstream, answer),
    serves: ({ upstream }) => upstream === 'chat' || upstream === 'messages',
  })
}
