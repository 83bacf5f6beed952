/** The chart rendered with its defaults, and its alerts. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { environment } from '../../contract/env.ts'
import { KUBERNETES_VERSION } from '../assets/binaries.ts'
import { ROOT } from '../harness/program.ts'
import {
  CHART,
  CRDS_CHART,
  envOf,
  find,
  helm,
  kindsOf,
  type Manifest,
  manifests,
  podSpecOf,
  render,
  specOf,
} from './helm.ts'

const WORKLOADS = [
  ['Deployment', 'sluice-controller'],
  ['Deployment', 'sluice-proxy'],
  ['StatefulSet', 'sluice-redis'],
] as const
const RULES = join(CHART, 'files', 'rules.yaml')
const execute = promisify(execFile)

it.each([
  ['sluice', CHART],
  ['sluice-crds', CRDS_CHART],
])('chart %s has the version of the package', (_, chart) => {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')))
  expect(parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'))).toMatchObject({
    version,
    appVersion: version,
  })
})

it.each([CHART, CRDS_CHART])('%s is clean for helm lint', async (chart) => {
  expect(await helm(['lint', '--strict', chart])).toContain('0 chart(s) failed')
})

it('the CRDs are the same in both charts', async () => {
  const crds = (objects: Manifest[]) => objects.filter(({ kind }) => kind === 'CustomResourceDefinition')
  const yaml = await helm(['template', 'sluice-crds', CRDS_CHART, '--kube-version', KUBERNETES_VERSION])
  expect(manifests(yaml)).toEqual(crds(await render()))
  expect(crds(await render({ crds: { install: false } }))).toEqual([])
  await expect(helm(['template', 'sluice-crds', CRDS_CHART], { install: true })).rejects.toThrow(
    "additional properties 'install' not allowed",
  )
})

describe('by default', () => {
  let objects: Manifest[] = []
  beforeAll(async () => {
    objects = await render()
  })

  it('has every part once, and nothing that only some clusters know', () => {
    expect(kindsOf(objects)).toEqual([
      'ClusterRole',
      'ClusterRoleBinding',
      'CustomResourceDefinition',
      'Deployment',
      'NetworkPolicy',
      'Pod',
      'PodDisruptionBudget',
      'Role',
      'RoleBinding',
      'Secret',
      'Service',
      'ServiceAccount',
      'StatefulSet',
    ])
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    expect(new Set(names).size).toBe(names.length)
  })

  it('keeps the CRDs, whole, and the sealing key', () => {
    const crds = objects.filter(({ kind }) => kind === 'CustomResourceDefinition')
    for (const crd of crds) {
      const source = parse(
        readFileSync(join(ROOT, 'crds', `sluice.dev_${crd.metadata.name.split('.')[0]}.yaml`), 'utf8'),
      )
      expect(crd.spec).toEqual(source.spec)
      expect(crd.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' })
    }
    expect(crds).toHaveLength(5)
    expect(find(objects, 'Secret', 'sluice-sealing').metadata.annotations).toEqual({
      'helm.sh/hook': 'pre-install,pre-upgrade',
      'helm.sh/resource-policy': 'keep',
    })
  })

  it('creates secrets that the programs accept', () => {
    const text = (name: string, key: string) => {
      const secret = z.object({ data: z.record(z.string(), z.string()) }).parse(find(objects, 'Secret', name))
      return Buffer.from(secret.data[key] ?? '', 'base64').toString()
    }
    const [, kid, key = ''] = /^(\w+):(.*)\n$/.exec(text('sluice-sealing', 'keys')) ?? []
    expect(kid).toBe('k1')
    expect(Buffer.from(key, 'base64')).toHaveLength(32)
    expect(environment.shape.SLUICE_ADMIN_TOKEN.safeParse(text('sluice-admin', 'token')).success).toBe(true)
    const redis = z
      .object({ stringData: z.record(z.string(), z.string()) })
      .parse(find(objects, 'Secret', 'sluice-redis'))
    for (const component of ['controller', 'proxy']) {
      const url = new URL(redis.stringData[`${component}-url`] ?? '')
      expect(url.host).toBe('sluice-redis.gateway.svc:6379')
      expect(url.username).toBe(`sluice-${component}`)
      expect(url.password).toMatch(/^\w{40}$/)
    }
  })

  it('gives each program the Redis rights in the documentation', () => {
    const { stringData } = z
      .object({ stringData: z.record(z.string(), z.string()) })
      .parse(find(objects, 'Secret', 'sluice-redis'))
    const usersIn = (text = '') => text.match(/^user sluice-.*$/gm)?.map((line) => line.replace(/>\S+/, '>'))
    expect(usersIn(stringData['redis.conf'])).toEqual(
      usersIn(readFileSync(join(ROOT, 'docs/redis.md'), 'utf8')),
    )
    expect(usersIn(stringData['redis.conf'])).toHaveLength(2)
  })

  it.each(WORKLOADS)('%s %s is restricted', (kind, name) => {
    const pod = podSpecOf(find(objects, kind, name))
    expect(pod.enableServiceLinks).toBe(false)
    const ids = z.looseObject({ runAsUser: z.number(), runAsGroup: z.number(), fsGroup: z.number() })
    const { runAsUser, runAsGroup, fsGroup } = ids.parse(pod.securityContext)
    // Lower ids may belong to users of the node.
    for (const id of [runAsUser, runAsGroup, fsGroup]) expect(id).toBeGreaterThan(10_000)
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    })
    expect(pod.containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
  })

  it.each(WORKLOADS)('%s %s leaves the Service without a restart', (kind, name) => {
    const [container] = podSpecOf(find(objects, kind, name)).containers
    const probe = z.looseObject({
      httpGet: z.unknown().optional(),
      exec: z.unknown().optional(),
      failureThreshold: z.number().optional(),
    })
    const [startup, liveness, readiness] = [
      container.startupProbe,
      container.livenessProbe,
      container.readinessProbe,
    ].map((each) => probe.parse(each))
    const actionOf = (each: typeof startup) => each?.httpGet ?? each?.exec
    expect(actionOf(readiness)).not.toEqual(actionOf(liveness))
    expect(actionOf(startup)).toEqual(actionOf(liveness))
    if (kind === 'Deployment')
      expect([actionOf(liveness), actionOf(readiness)]).toEqual([
        { path: '/healthz', port: 'admin' },
        { path: '/readyz', port: 'admin' },
      ])
    // A slow start is not a failure.
    expect(startup?.failureThreshold).toBeGreaterThanOrEqual(60)
  })

  it('gives no token to the proxy or to Redis', () => {
    for (const [kind, name] of WORKLOADS.slice(1))
      expect(podSpecOf(find(objects, kind, name)).automountServiceAccountToken).toBe(false)
    expect(find(objects, 'ServiceAccount', 'sluice-proxy')).toMatchObject({
      automountServiceAccountToken: false,
    })
  })

  it.each(['controller', 'proxy'])('starts the %s with settings that exist', (component) => {
    const workload = find(objects, 'Deployment', `sluice-${component}`)
    expect(podSpecOf(workload).containers[0]).toMatchObject({ image: 'sluice:0.1.0', args: [component] })
    const env = envOf(workload)
    const plain = Object.entries(env).filter(([, value]) => typeof value === 'string')
    expect(environment.partial().strict().safeParse(Object.fromEntries(plain)).error).toBe(undefined)
    expect(Object.keys(env).filter((name) => !Object.hasOwn(environment.shape, name))).toEqual([])
    expect(env).toMatchObject({
      SLUICE_INSTANCE: { fieldRef: { fieldPath: 'metadata.name' } },
      SLUICE_NAMESPACE: { fieldRef: { fieldPath: 'metadata.namespace' } },
      SLUICE_REDIS_URL: { secretKeyRef: { name: 'sluice-redis', key: `${component}-url` } },
      SLUICE_ADMIN_TOKEN: { secretKeyRef: { name: 'sluice-admin', key: 'token' } },
      SLUICE_SEALING_KEYS_FILE: '/etc/sluice/sealing/keys',
    })
  })

  it('drains proxies within their grace period', () => {
    const proxy = find(objects, 'Deployment', 'sluice-proxy')
    const { terminationGracePeriodSeconds, containers } = podSpecOf(proxy)
    expect(terminationGracePeriodSeconds).toBe(630)
    expect(containers[0].lifecycle).toEqual({ preStop: { sleep: { seconds: 10 } } })
    expect(envOf(proxy)).toMatchObject({ SLUICE_DRAIN_TIMEOUT: '605s' })
    expect(specOf(proxy)).toMatchObject({ replicas: 2, strategy: { rollingUpdate: { maxUnavailable: 0 } } })
  })

  it('lets only the programs reach Redis', () => {
    const peer = (component: string) => ({
      podSelector: {
        matchLabels: {
          'app.kubernetes.io/name': 'sluice',
          'app.kubernetes.io/instance': 'sluice',
          'app.kubernetes.io/component': component,
        },
      },
    })
    expect(specOf(find(objects, 'NetworkPolicy', 'sluice-redis'))).toMatchObject({
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [peer('controller'), peer('proxy')], ports: [{ port: 'redis' }] }],
    })
  })
})

it('Prometheus accepts the alerts', async () => {
  const { stdout } = await execute('promtool', ['check', 'rules', RULES])
  expect(stdout).toContain('15 rules found')
})

it('alerts fire', async () => {
  const { stdout } = await execute('promtool', [
    'test',
    'rules',
    join(import.meta.dirname, 'rules.test.yaml'),
  ])
  expect(stdout).toContain('SUCCESS')
})
