/**
 * What is in front of the proxies: the values for each ingress controller, on a real API server with the CRDs of the
 * projects that publish them. GKE publishes none, so its two policies are only rendered.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { type ControlPlane, startControlPlane } from '../../tools/cluster/control-plane.ts'
import { mustKubectl } from '../../tools/cluster/kubectl.ts'
import { foreignCrds } from '../assets/crds.ts'
import { ROOT } from '../harness/program.ts'
import { envOf, find, type Manifest, render, specOf } from './helm.ts'

const EXAMPLES = join(ROOT, 'examples', 'ingress')
const examples = readdirSync(EXAMPLES).filter((name) => name.endsWith('.yaml'))
const valuesOf = (name: string) =>
  z
    .looseObject({ ingress: z.unknown(), httpRoute: z.unknown() })
    .partial()
    .parse(parse(readFileSync(join(EXAMPLES, name), 'utf8')))

const dir = mkdtempSync(join(tmpdir(), 'sluice-ingress-'))
let cluster: ControlPlane

beforeAll(async () => {
  cluster = await startControlPlane({ dir })
  for (const namespace of ['gateway', 'gateways'])
    await mustKubectl(cluster.kubectl, 'create', 'namespace', namespace)
  const files = foreignCrds().flatMap((file) => ['--filename', file])
  await mustKubectl(cluster.kubectl, 'create', ...files)
  await mustKubectl(
    cluster.kubectl,
    'wait',
    '--for=condition=Established',
    '--timeout=60s',
    ...['crds', '--all'],
  )
}, 180_000)

afterAll(async () => {
  await cluster?.stop()
  rmSync(dir, { recursive: true, force: true })
})

/** Helm sends an object to the namespace that it names, else to that of the release. */
async function apply(objects: Manifest[]) {
  const namespaces = Map.groupBy(objects, ({ metadata }) => metadata.namespace ?? 'gateway')
  let [stdout, stderr] = ['', '']
  for (const [namespace, some] of namespaces) {
    const input = some.map((object) => stringify(object, { version: '1.1' })).join('---\n')
    const args = ['apply', '--dry-run=server', '--namespace', namespace, '--filename', '-']
    const answer = await cluster.kubectl(...args, { input })
    stdout += answer.stdout
    stderr += answer.stderr
  }
  return { stdout, stderr }
}
const isOfGoogle = ({ apiVersion }: Manifest) => apiVersion === 'networking.gke.io/v1'

describe('the API server accepts the chart with the values for', () => {
  it.each(examples)('%s', async (name) => {
    const objects = (await render(valuesOf(name))).filter((object) => !isOfGoogle(object))
    const { stdout, stderr } = await apply(objects)
    expect(stderr).toBe('')
    const entry = valuesOf(name).ingress === undefined ? 'httproute.gateway' : 'ingress.networking'
    expect(stdout).toContain(entry)
  })

  it('the Prometheus operator', async () => {
    const monitoring = { serviceMonitor: { enabled: true }, prometheusRule: { enabled: true } }
    const { stdout, stderr } = await apply(await render({ monitoring }))
    expect(stderr).toBe('')
    expect(stdout).toContain('prometheusrule.monitoring.coreos.com/sluice created')
    expect(stdout).toContain('servicemonitor.monitoring.coreos.com/sluice created')
  })

  it('not if an object has a field that its kind does not know', async () => {
    const values = valuesOf('envoy-gateway.yaml')
    const objects = await render({
      ...values,
      extraObjects: [
        {
          apiVersion: 'gateway.envoyproxy.io/v1alpha1',
          kind: 'ClientTrafficPolicy',
          metadata: { name: 'wrong' },
          spec: { timeout: { http: { streamIdle: '620s' } } },
        },
      ],
    })
    const { stderr } = await apply(objects)
    expect(stderr).toContain('unknown field "spec.timeout.http.streamIdle"')
  })
})

const seconds = (text: unknown) => Number(/(\d+)s?$/.exec(String(text))?.[1])
const annotationsOf = (object: Manifest) =>
  z.record(z.string(), z.string()).parse(object.metadata.annotations)

it('ingress-nginx gets the settings of the nginx.conf that is tested with clients', async () => {
  const ingress = find(await render(valuesOf('ingress-nginx.yaml')), 'Ingress', 'sluice-proxy')
  const conf = readFileSync(join(EXAMPLES, 'nginx.conf'), 'utf8')
  // The annotation of a directive has its name, but for this one. ingress-nginx adds the unit of a time.
  const names: Record<string, string> = { 'proxy-body-size': 'client_max_body_size' }
  const annotations = Object.entries(annotationsOf(ingress))
  for (const [annotation, value] of annotations) {
    const short = annotation.replace('nginx.ingress.kubernetes.io/', '')
    const [, set] =
      new RegExp(`^ +${names[short] ?? short.replaceAll('-', '_')} (.*);$`, 'm').exec(conf) ?? []
    expect([short, set?.replace(/^(\d+)s$/, '$1')]).toEqual([short, value])
  }
  const timeouts = annotations.filter(([name]) => name.endsWith('-timeout'))
  expect(timeouts).toHaveLength(3)
})

it.each([
  [
    'alb.yaml',
    (objects: Manifest[]) =>
      annotationsOf(find(objects, 'Ingress', 'sluice-proxy'))[
        'alb.ingress.kubernetes.io/load-balancer-attributes'
      ],
  ],
  ['gke.yaml', () => 600],
])('%s: the proxies keep idle connections longer than the load balancer does', async (name, theirs) => {
  const objects = await render(valuesOf(name))
  const ours = envOf(find(objects, 'Deployment', 'sluice-proxy')).SLUICE_IDLE_TIMEOUT
  expect(seconds(ours)).toBeGreaterThan(seconds(theirs(objects)))
})

it('gke.yaml: its policies are for the Service of the API, and its health check for the admin port', async () => {
  const objects = await render(valuesOf('gke.yaml'))
  const policies = objects.filter(isOfGoogle)
  expect(policies.map(({ kind }) => kind).sort()).toEqual(['GCPBackendPolicy', 'HealthCheckPolicy'])
  const service = find(objects, 'Service', 'sluice-proxy').metadata.name
  for (const policy of policies)
    expect(specOf(policy)).toMatchObject({ targetRef: { group: '', kind: 'Service', name: service } })
  expect(specOf(find(objects, 'HealthCheckPolicy', 'sluice-proxy'))).toMatchObject({
    default: { config: { httpHealthCheck: { port: 8081, requestPath: '/readyz' } } },
  })
  expect(JSON.stringify(find(objects, 'HTTPRoute', 'sluice-proxy'))).not.toContain('timeouts')
})
