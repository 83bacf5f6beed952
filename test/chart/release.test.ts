/** The chart as a release on a real API server: install, upgrade, rights and uninstall. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type ControlPlane, startControlPlane } from '../../tools/cluster/control-plane.ts'
import { mustKubectl } from '../../tools/cluster/kubectl.ts'
import { until } from '../harness/gateway.ts'
import { CHART, CRDS_CHART, helm } from './helm.ts'
import { type Access, accessOf } from './service-account.ts'

const NAMESPACE = 'gateway'
const dir = mkdtempSync(join(tmpdir(), 'sluice-release-'))
let cluster: ControlPlane

beforeAll(async () => {
  // A separate one: the CRDs come and go with the release.
  cluster = await startControlPlane({ dir, controllerManager: true })
  await mustKubectl(cluster.kubectl, 'create', 'namespace', NAMESPACE)
  const profile = ['enforce', 'warn'].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`)
  await mustKubectl(cluster.kubectl, 'label', 'namespace', NAMESPACE, ...profile)
})

afterAll(async () => {
  await cluster?.stop()
  rmSync(dir, { recursive: true, force: true })
})

const release = (command: string, values: object = {}) =>
  helm(
    [
      command,
      'sluice',
      ...(command === 'uninstall' ? [] : [CHART]),
      '--namespace',
      NAMESPACE,
      '--kubeconfig',
      cluster.kubeconfig,
    ],
    values,
  )

const get = async (...what: string[]): Promise<unknown> =>
  JSON.parse(await mustKubectl(cluster.kubectl, 'get', '--namespace', NAMESPACE, '--output', 'json', ...what))

/** Every generated value. */
async function secrets(): Promise<Record<string, Record<string, string>>> {
  const list = z
    .object({
      items: z.array(
        z.object({
          type: z.string(),
          metadata: z.object({ name: z.string() }),
          data: z.record(z.string(), z.string()),
        }),
      ),
    })
    .parse(await get('secrets'))
  return Object.fromEntries(
    list.items.filter(({ type }) => type === 'Opaque').map(({ metadata, data }) => [metadata.name, data]),
  )
}

const LOG_LEVEL_INFO = { name: 'SLUICE_LOG_LEVEL', value: 'info' }

const crds = async () =>
  (await mustKubectl(cluster.kubectl, 'get', 'crds', '--output', 'name'))
    .split('\n')
    .filter((name) => name.endsWith('.sluice.dev'))

describe('a release', () => {
  it.each([
    ['defaults', {}],
    [
      'every option that needs no extra CRDs',
      {
        autoscaling: { enabled: true, targetRequestsInFlight: 400 },
        ingress: { enabled: true, className: 'nginx', hosts: ['llm.example.com'] },
        redis: { persistence: { enabled: false }, maxMemory: '1gb' },
        watchNamespaces: [NAMESPACE],
        networkPolicy: {
          apiFrom: [{ namespaceSelector: {} }],
          adminFrom: [{ podSelector: {} }],
          egress: { enabled: true },
        },
        controller: { nodeSelector: { disk: 'ssd' }, tolerations: [{ key: 'a', operator: 'Exists' }] },
        proxy: { priorityClassName: 'system-cluster-critical', podLabels: { team: 'llm' } },
      },
    ],
    [
      'an existing Redis with TLS',
      {
        redis: {
          enabled: false,
          existingSecret: 'redis',
          tls: { existingSecret: 'redis-tls', cert: 'tls.crt', key: 'tls.key' },
        },
        networkPolicy: { egress: { enabled: true } },
      },
    ],
  ])('passes the restricted profile without a warning: %s', async (_, values) => {
    const yaml = await helm(['template', 'sluice', CHART, '--namespace', NAMESPACE], values)
    const { stdout, stderr, status } = await cluster.kubectl(
      'apply',
      '--dry-run=server',
      '--namespace',
      NAMESPACE,
      '--filename',
      '-',
      { input: yaml },
    )
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
    expect(stdout).toContain('deployment.apps/sluice-proxy created (server dry run)')
  })

  it('would get a warning for an unrestricted pod', async () => {
    const yaml = await helm(['template', 'sluice', CHART, '--namespace', NAMESPACE])
    const { stderr } = await cluster.kubectl(
      'apply',
      '--dry-run=server',
      '--namespace',
      NAMESPACE,
      '--filename',
      '-',
      { input: yaml.replaceAll('runAsNonRoot: true', 'runAsNonRoot: false') },
    )
    expect(stderr).toContain('would violate PodSecurity "restricted')
  })

  it('is installed and describes the next steps', async () => {
    const notes = await release('install')
    expect(notes).toContain('http://sluice-proxy.gateway.svc:8080/v1')
    expect(notes).toContain('Keep a copy of the Secret sluice-sealing')
    expect(await crds()).toHaveLength(5)
  })

  it.each(['deployment/sluice-controller', 'deployment/sluice-proxy', 'statefulset/sluice-redis'])(
    'has pods that the namespace admits: %s',
    async (workload) => {
      const { spec } = z
        .object({ spec: z.object({ template: z.object({ spec: z.looseObject({}) }) }) })
        .parse(await get(workload))
      // No workload controller runs here.
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'one', namespace: NAMESPACE },
        spec: spec.template.spec,
      }
      const mounts = [{ name: 'data', emptyDir: {} }]
      if (workload.endsWith('redis'))
        pod.spec.volumes = [...z.array(z.unknown()).parse(pod.spec.volumes), ...mounts]
      const input = JSON.stringify(pod)
      expect(await cluster.kubectl('create', '--dry-run=server', '--filename', '-', { input })).toEqual({
        stdout: 'pod/one created (server dry run)\n',
        stderr: '',
        status: 0,
      })
    },
  )

  it('keeps its generated values through an upgrade', async () => {
    const before = await secrets()
    expect(Object.keys(before).sort()).toEqual(['sluice-admin', 'sluice-redis', 'sluice-sealing'])
    await release('upgrade', { proxy: { replicas: 3 }, logLevel: 'debug' })
    expect(await secrets()).toEqual(before)
    expect(await get('deployment', 'sluice-proxy')).toMatchObject({ spec: { replicas: 3 } })
  })

  it('keeps values that an operator put into its Secrets', async () => {
    const rotated = Buffer.from(`k2:${'A'.repeat(43)}=\nk1:${'B'.repeat(43)}=\n`).toString('base64')
    const patch = JSON.stringify({ data: { keys: rotated } })
    await mustKubectl(
      cluster.kubectl,
      'patch',
      'secret',
      'sluice-sealing',
      '-n',
      NAMESPACE,
      '--type=merge',
      '-p',
      patch,
    )
    await release('upgrade')
    expect((await secrets())['sluice-sealing']).toEqual({ keys: rotated })
  })

  it('lets an autoscaler count the proxies', async () => {
    await release('upgrade', { autoscaling: { enabled: true } })
    await mustKubectl(cluster.kubectl, 'scale', '-n', NAMESPACE, 'deployment/sluice-proxy', '--replicas=7')
    await release('upgrade', { autoscaling: { enabled: true }, logLevel: 'warn' })
    expect(await get('deployment', 'sluice-proxy')).toMatchObject({ spec: { replicas: 7 } })
  })

  it('goes back to an earlier revision, with its generated values', async () => {
    const before = await secrets()
    const at = ['--namespace', NAMESPACE, '--kubeconfig', cluster.kubeconfig]
    await helm(['rollback', 'sluice', '1', ...at])
    expect(await secrets()).toEqual(before)
    expect(await get('deployment', 'sluice-proxy')).toMatchObject({
      spec: { template: { spec: { containers: [{ env: expect.arrayContaining([LOG_LEVEL_INFO]) }] } } },
    })
    const objects = await helm(['get', 'manifest', 'sluice', ...at])
    expect(objects).not.toContain('HorizontalPodAutoscaler')
    expect(await crds()).toHaveLength(5)
  })

  it('adds the kinds to the cluster’s own roles', async () => {
    const may = async (role: string, ...what: string[]) => {
      const { stdout } = await cluster.kubectl('auth', 'can-i', ...what, '--as', role, '-n', 'default')
      return stdout.trim()
    }
    for (const role of ['view', 'edit'])
      await mustKubectl(
        cluster.kubectl,
        'create',
        'rolebinding',
        role,
        '-n',
        'default',
        `--clusterrole=${role}`,
        `--user=${role}`,
      )
    await until(async () => (await may('view', 'list', 'apikeys.sluice.dev')) === 'yes', 'the roles')
    await until(async () => (await may('edit', 'create', 'credits.sluice.dev')) === 'yes', 'the roles')
    expect(await may('view', 'create', 'apikeys.sluice.dev')).toBe('no')
    expect(await may('edit', 'patch', 'apikeys.sluice.dev', '--subresource=status')).toBe('no')
  })

  describe('rights, with real tokens', () => {
    let controller: Access
    let proxy: Access
    beforeAll(async () => {
      controller = await accessOf(cluster, NAMESPACE, 'sluice-controller')
      proxy = await accessOf(cluster, NAMESPACE, 'sluice-proxy')
      const key = {
        apiVersion: 'sluice.dev/v1alpha1',
        kind: 'ApiKey',
        metadata: { name: 'k', namespace: 'default' },
        spec: {},
      }
      await mustKubectl(cluster.kubectl, 'apply', '--filename', '-', { input: JSON.stringify(key) })
    })

    const KINDS = '/apis/sluice.dev/v1alpha1'
    const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events'
    const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`
    const lease = (name: string) => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace: NAMESPACE },
      spec: { holderIdentity: 'me' },
    })
    const event = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'k.1', namespace: 'default' },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'sluice.dev/controller',
      reportingInstance: 'test',
      action: 'Test',
      reason: 'Test',
      type: 'Normal',
      regarding: { kind: 'ApiKey', name: 'k', namespace: 'default' },
    }
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'k-key', namespace: 'default' } }

    // In this order: later calls need what earlier ones created.
    it.each<[what: string, path: string, method: string, body: object | undefined, status: number]>([
      ...['accounts', 'apikeys', 'channels', 'credits', 'modelroutes'].map(
        (kind): [string, string, string, undefined, number] => [
          `list ${kind}`,
          `${KINDS}/${kind}`,
          'GET',
          undefined,
          200,
        ],
      ),
      [
        'patch a status',
        `${KINDS}/namespaces/default/apikeys/k/status`,
        'PATCH',
        { status: { preview: 'x' } },
        200,
      ],
      ['list Secrets', '/api/v1/secrets', 'GET', undefined, 200],
      ['create a Secret', '/api/v1/namespaces/default/secrets', 'POST', secret, 201],
      ['create an event', EVENTS, 'POST', event, 201],
      [
        'patch an event',
        `${EVENTS}/k.1`,
        'PATCH',
        { series: { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' } },
        200,
      ],
      ['create its Lease', LEASES, 'POST', lease('sluice-controller'), 201],
      ['read its Lease', `${LEASES}/sluice-controller`, 'GET', undefined, 200],
      ['patch its Lease', `${LEASES}/sluice-controller`, 'PATCH', { spec: { holderIdentity: 'you' } }, 200],
      ['change a spec', `${KINDS}/namespaces/default/apikeys/k`, 'PATCH', { spec: { disabled: true } }, 403],
      ['delete a resource', `${KINDS}/namespaces/default/apikeys/k`, 'DELETE', undefined, 403],
      ['change a Secret', '/api/v1/namespaces/default/secrets/k-key', 'PATCH', { data: {} }, 403],
      ['delete a Secret', '/api/v1/namespaces/default/secrets/k-key', 'DELETE', undefined, 403],
      ['read another Lease', `${LEASES}/other`, 'GET', undefined, 403],
      [
        'create a Lease elsewhere',
        LEASES.replace(NAMESPACE, 'default'),
        'POST',
        { ...lease('x'), metadata: { name: 'x' } },
        403,
      ],
      ['list ConfigMaps', '/api/v1/configmaps', 'GET', undefined, 403],
      ['list pods', `/api/v1/namespaces/${NAMESPACE}/pods`, 'GET', undefined, 403],
      ['list namespaces', '/api/v1/namespaces', 'GET', undefined, 403],
      ['read the CRDs', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', 'GET', undefined, 403],
    ])('the controller: %s', async (_, path, method, body, status) => {
      expect(await controller.call(path, method, body)).toBe(status)
    })

    it.each([
      `${KINDS}/apikeys`,
      `${KINDS}/namespaces/${NAMESPACE}/channels`,
      '/api/v1/secrets',
      `/api/v1/namespaces/${NAMESPACE}/secrets/sluice-sealing`,
      `/api/v1/namespaces/${NAMESPACE}/pods`,
      LEASES,
    ])('the proxy has none: %s', async (path) => {
      expect(await proxy.call(path, 'GET')).toBe(403)
    })
  })

  it('leaves the CRDs, the resources and the sealing key behind, and adopts them again', async () => {
    const before = (await secrets())['sluice-sealing']
    await release('uninstall')
    expect(Object.keys(await secrets())).toEqual(['sluice-sealing'])
    expect(await crds()).toHaveLength(5)
    expect(await mustKubectl(cluster.kubectl, 'get', 'apikey', 'k', '-o', 'name')).toBe(
      'apikey.sluice.dev/k\n',
    )
    await release('install')
    expect((await secrets())['sluice-sealing']).toEqual(before)
  })

  it('hands its CRDs over to the chart of their own, and takes them back', async () => {
    const at = ['--namespace', NAMESPACE, '--kubeconfig', cluster.kubeconfig]
    const ids = () =>
      mustKubectl(
        cluster.kubectl,
        ...[
          'get',
          'crds',
          '-o',
          'jsonpath={range .items[?(@.spec.group=="sluice.dev")]}{.metadata.uid} {end}',
        ],
      )
    const owner = async () =>
      mustKubectl(
        cluster.kubectl,
        ...['get', 'crd', 'apikeys.sluice.dev', '-o'],
        'jsonpath={.metadata.annotations.meta\\.helm\\.sh/release-name}',
      )
    const before = await ids()
    await release('upgrade', { crds: { install: false } })
    await expect(helm(['install', 'sluice-crds', CRDS_CHART, ...at])).rejects.toThrow('cannot be imported')
    await helm(['install', 'sluice-crds', CRDS_CHART, '--take-ownership', ...at])
    expect(await owner()).toBe('sluice-crds')
    await helm(['uninstall', 'sluice-crds', ...at])
    await helm(['upgrade', 'sluice', CHART, '--take-ownership', ...at], { crds: { install: true } })
    expect(await owner()).toBe('sluice')
    // Neither the CRDs nor the resources were ever away.
    expect(await ids()).toBe(before)
    expect(await mustKubectl(cluster.kubectl, 'get', 'apikey', 'k', '-o', 'name')).toContain('/k')
  })
})
