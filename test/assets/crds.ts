/**
 * CRDs of other projects that objects of the chart need: the Gateway API, Envoy Gateway and the Prometheus operator.
 * They are files of Go modules. `node test/assets/crds.ts` gets them into Go's module cache, and so does a test.
 */
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'

const SOURCES = [
  {
    module: 'sigs.k8s.io/gateway-api@v1.5.0',
    sum: 'h1:duoo14Ky/fJXpjpmyMISE2RTBGnfCg8zICfTYLTnBJA=',
    files: [
      'config/crd/standard/gateway.networking.k8s.io_gateways.yaml',
      'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml',
    ],
  },
  {
    module: 'github.com/envoyproxy/gateway@v1.5.0',
    sum: 'h1:wfHytSeNoinwu0vCtWT61XK23qJuRmJyU+CPWdIJp2I=',
    files: [
      'charts/gateway-helm/crds/generated/gateway.envoyproxy.io_backendtrafficpolicies.yaml',
      'charts/gateway-helm/crds/generated/gateway.envoyproxy.io_clienttrafficpolicies.yaml',
    ],
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
    files: [
      'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
      'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
    ],
  },
]

const download = z.object({ Dir: z.string(), Sum: z.string() })

/** Paths of the CRDs. Throws with Go's message if a module is neither in the cache nor can be had. */
export function foreignCrds(): string[] {
  return SOURCES.flatMap(({ module, sum, files }) => {
    const { stdout, error } = spawnSync('go', ['mod', 'download', '-json', module], {
      cwd: tmpdir(),
      encoding: 'utf8',
      timeout: 120_000,
    })
    if (error !== undefined) throw new Error(`Go gets ${module}, and cannot be started: ${error.message}`)
    const answer = download.safeParse(JSON.parse(stdout))
    if (!answer.success) throw new Error(`${module} cannot be had: ${stdout}`)
    if (answer.data.Sum !== sum) throw new Error(`${module} is another one: ${answer.data.Sum}, not ${sum}`)
    return files.map((file) => join(answer.data.Dir, file))
  })
}

if (import.meta.main) foreignCrds()
