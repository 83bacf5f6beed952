/** `make up`: a cluster on this machine; every part is a process on loopback that runs until `make down`. */
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { z } from 'zod'
import { type ClusterEnv, startCluster } from './cluster.ts'
import { runDir } from './run-dir.ts'
import { ClusterState } from './state.ts'

const EXAMPLE_PORT = 8082
const EXAMPLE_URL = `http://127.0.0.1:${EXAMPLE_PORT}/v1`
/** The key in examples/cluster/3-clients.yaml. */
const EXAMPLE_KEY = 'sk-cluster-0123456789abcdef'

const count = z.coerce.number().int().min(1).max(20).default(2)
const settings = z.object({
  CONTROLLERS: count,
  PROXIES: count,
  UPSTREAM_PORT: z.coerce.number().int().min(1).max(65535).default(EXAMPLE_PORT),
})

async function up(): Promise<void> {
  const given = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== ''))
  const parsed = settings.safeParse(given)
  if (!parsed.success) throw new Error(z.prettifyError(parsed.error))
  const { CONTROLLERS, PROXIES, UPSTREAM_PORT } = parsed.data
  const state = new ClusterState(runDir())
  const env = await startCluster(state, {
    controllers: CONTROLLERS,
    proxies: PROXIES,
    upstreamPort: UPSTREAM_PORT,
  })
  const lines = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const file = join(state.dir, 'env')
  writeFileSync(file, `${lines.join('\n')}\n`)
  console.log(`${lines.join('\n')}\n\n${whatNext(env, file)}`)
}

function whatNext(env: ClusterEnv, file: string): string {
  const kubectl = '"$KUBECTL" --kubeconfig "$KUBECONFIG"'
  const patch = JSON.stringify({ spec: { baseURL: env.UPSTREAM_URL } })
  const apply = [
    `${kubectl} apply -f examples/cluster`,
    // The example has the default port.
    ...(env.UPSTREAM_URL === EXAMPLE_URL
      ? []
      : [`${kubectl} patch channel example --type=merge -p '${patch}'`]),
  ].join('\n  ')
  return `The cluster runs; logs are in ${shown(join(file, '../log'))}. What to type next:

  source ${shown(file)}
  ${apply}
  ${kubectl} get sluice
  curl ${env.BASE_URLS.split(',')[0]}/v1/chat/completions \\
    -H 'Authorization: Bearer ${EXAMPLE_KEY}' -H 'Content-Type: application/json' \\
    -d '{"model": "example", "messages": [{"role": "user", "content": "Hello!"}]}'
  make down`
}

function shown(path: string): string {
  const short = relative(process.cwd(), path)
  return short.startsWith('..') ? path : short
}

try {
  await up()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  console.error('make up failed; make down stops what it has started')
  // Some parts may still be starting.
  process.exit(1)
}
