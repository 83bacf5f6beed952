/** The effects of values on the chart, and the values that it refuses. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { CHART, envOf, find, helm, kindsOf, podSpecOf, render, specOf } from './helm.ts'

const RULES = join(CHART, 'files', 'rules.yaml')
const refusal = (values: object) =>
  render(values).then(
    () => 'rendered',
    (error: Error) => error.message,
  )

const EVERYTHING = {
  proxy: { extraEnv: [{ name: 'EXTRA', value: 'yes' }] },
  trustedProxies: ['10.0.0.0/8', 'fd00::/8'],
  service: { port: 80 },
  autoscaling: { enabled: true },
  ingress: {
    enabled: true,
    className: 'nginx',
    hosts: ['llm.example.com'],
    tls: [{ secretName: 'tls', hosts: ['llm.example.com'] }],
  },
  httpRoute: { enabled: true, parentRefs: [{ name: 'gateway', namespace: 'gateways' }] },
  monitoring: { serviceMonitor: { enabled: true }, prometheusRule: { enabled: true } },
}

describe('values', () => {
  it('an existing Redis by its address', async () => {
    const objects = await render({ redis: { enabled: false, url: 'rediss://u:p@redis.example:6380' } })
    expect(find(objects, 'Secret', 'sluice-redis')).toMatchObject({
      data: { url: Buffer.from('rediss://u:p@redis.example:6380').toString('base64') },
    })
    expect(envOf(find(objects, 'Deployment', 'sluice-proxy'))).toMatchObject({
      SLUICE_REDIS_URL: { secretKeyRef: { name: 'sluice-redis', key: 'url' } },
    })
    expect(
      objects.filter(({ metadata }) => metadata.name === 'sluice-redis').map(({ kind }) => kind),
    ).toEqual(['Secret'])
  })

  it('an existing Secret for the chart’s Redis, as GitOps needs it', async () => {
    const objects = await render({
      redis: { serverSecret: 'server' },
      sealing: { existingSecret: 'seals' },
      admin: { existingSecret: 'tokens' },
    })
    expect(objects.filter(({ kind }) => kind === 'Secret')).toEqual([])
    for (const component of ['controller', 'proxy'])
      expect(envOf(find(objects, 'Deployment', `sluice-${component}`))).toMatchObject({
        SLUICE_REDIS_URL: { secretKeyRef: { name: 'server', key: `${component}-url` } },
      })
    const redis = JSON.stringify(find(objects, 'StatefulSet', 'sluice-redis'))
    expect(redis).toContain('"secretKeyRef":{"name":"server","key":"password"}')
    expect(redis).toContain('"secretName":"server"')
    // It contains everything that the programs take from the rendered Secret.
    const rendered = find(await render({}), 'Secret', 'sluice-redis')
    expect(
      Object.keys(z.object({ stringData: z.record(z.string(), z.string()) }).parse(rendered).stringData),
    ).toEqual(expect.arrayContaining(['password', 'controller-url', 'proxy-url', 'redis.conf']))
  })

  it('existing Secrets', async () => {
    const objects = await render({
      redis: { enabled: false, existingSecret: 'mine', existingSecretKeys: { proxy: 'proxy-url' } },
      sealing: { existingSecret: 'seals' },
      admin: { existingSecret: 'tokens' },
    })
    expect(objects.filter(({ kind }) => kind === 'Secret')).toEqual([])
    const [controller, proxy] = ['controller', 'proxy'].map((name) =>
      find(objects, 'Deployment', `sluice-${name}`),
    )
    expect(controller && envOf(controller)).toMatchObject({
      SLUICE_REDIS_URL: { secretKeyRef: { name: 'mine', key: 'url' } },
      SLUICE_ADMIN_TOKEN: { secretKeyRef: { name: 'tokens', key: 'token' } },
    })
    expect(proxy && envOf(proxy)).toMatchObject({
      SLUICE_REDIS_URL: { secretKeyRef: { name: 'mine', key: 'proxy-url' } },
    })
    expect(proxy && podSpecOf(proxy).volumes).toMatchObject([{ secret: { secretName: 'seals' } }])
  })

  it.each(['controller', 'proxy'])(
    'existing files for the %s, beside the sealing keys',
    async (component) => {
      const mount = { name: 'tls', mountPath: '/etc/sluice/tls', readOnly: true }
      const objects = await render({
        [component]: {
          extraVolumes: [{ name: 'tls', secret: { secretName: 'redis-tls' } }],
          extraVolumeMounts: [mount],
        },
      })
      for (const name of ['controller', 'proxy']) {
        const { volumes, containers } = podSpecOf(find(objects, 'Deployment', `sluice-${name}`))
        const own = name === component
        expect(volumes).toEqual([
          expect.objectContaining({ name: 'sealing' }),
          ...(own ? [{ name: 'tls', secret: { secretName: 'redis-tls' } }] : []),
        ])
        expect(containers[0].volumeMounts).toEqual([
          expect.objectContaining({ name: 'sealing' }),
          ...(own ? [mount] : []),
        ])
      }
    },
  )

  it('namespaces: rights only there', async () => {
    const objects = await render({
      watchNamespaces: ['team-a', 'team-b'],
      secrets: { labelSelector: 'sluice.dev/secret=true,team=llm' },
      controller: { generateKeys: false },
    })
    expect(objects.filter(({ kind }) => kind === 'ClusterRoleBinding')).toEqual([])
    const roles = objects.filter(
      ({ kind, metadata }) => kind === 'Role' && metadata.name === 'sluice-controller',
    )
    expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(['team-a', 'team-b'])
    for (const { rules } of roles)
      expect(rules).toContainEqual({
        apiGroups: [''],
        resources: ['secrets'],
        verbs: ['get', 'list', 'watch'],
      })
    expect(envOf(find(objects, 'Deployment', 'sluice-controller'))).toMatchObject({
      SLUICE_WATCH_NAMESPACES: 'team-a,team-b',
      SLUICE_SECRET_LABEL_SELECTOR: 'sluice.dev/secret=true,team=llm',
    })
  })

  it.each([
    ['an autoscaler', { autoscaling: { enabled: true } }],
    ['null', { proxy: { replicas: null } }],
  ])('no fixed number of proxies with %s', async (_, values) => {
    const objects = await render(values)
    expect(specOf(find(objects, 'Deployment', 'sluice-proxy'))).not.toHaveProperty('replicas')
    expect(specOf(find(objects, 'Deployment', 'sluice-controller'))).toHaveProperty('replicas', 2)
  })

  it('everything off', async () => {
    const objects = await render(EVERYTHING)
    expect(kindsOf(objects)).toEqual(
      expect.arrayContaining([
        'HTTPRoute',
        'HorizontalPodAutoscaler',
        'Ingress',
        'PrometheusRule',
        'ServiceMonitor',
      ]),
    )
    expect(specOf(find(objects, 'Ingress', 'sluice-proxy'))).toEqual({
      ingressClassName: 'nginx',
      tls: [{ secretName: 'tls', hosts: ['llm.example.com'] }],
      rules: [
        {
          host: 'llm.example.com',
          http: {
            paths: [
              {
                path: '/',
                pathType: 'Prefix',
                backend: { service: { name: 'sluice-proxy', port: { name: 'http' } } },
              },
            ],
          },
        },
      ],
    })
    expect(specOf(find(objects, 'HTTPRoute', 'sluice-proxy'))).toMatchObject({
      rules: [{ backendRefs: [{ name: 'sluice-proxy', port: 80 }], timeouts: { request: '0s' } }],
    })
    expect(specOf(find(objects, 'PrometheusRule', 'sluice'))).toEqual(parse(readFileSync(RULES, 'utf8')))
    const monitored = objects.filter(
      ({ kind, metadata }) =>
        kind === 'Service' &&
        z.record(z.string(), z.string()).parse(metadata.labels)['sluice.dev/port'] === 'admin',
    )
    expect(monitored.map(({ metadata }) => metadata.name)).toEqual([
      'sluice-controller',
      'sluice-proxy-admin',
    ])
    expect(envOf(find(objects, 'Deployment', 'sluice-proxy'))).toMatchObject({
      SLUICE_TRUSTED_PROXIES: '10.0.0.0/8,fd00::/8',
      EXTRA: 'yes',
    })
  })

  it('without CRDs, roles and policies', async () => {
    const objects = await render({
      crds: { install: false },
      rbac: { create: false, aggregate: false },
      networkPolicy: { enabled: false },
      podDisruptionBudget: { enabled: false },
    })
    expect(kindsOf(objects)).toEqual(['Deployment', 'Secret', 'Service', 'ServiceAccount', 'StatefulSet'])
  })

  it('another release has its own names', async () => {
    const yaml = await helm(['template', 'blue', CHART, '--namespace', 'gateway', '--kube-version', '1.36.0'])
    expect(yaml).toContain('name: blue-sluice-proxy\n')
    expect(yaml).toContain('name: gateway:blue-sluice-controller\n')
    expect(yaml).not.toMatch(/name: sluice-/)
  })
})

describe('refused with a sentence', () => {
  it.each([
    [
      'an unknown value',
      { proxy: { replica: 3 } },
      /at '\/proxy': additional properties 'replica' not allowed/,
    ],
    ['no proxy', { proxy: { replicas: 0 } }, /at '\/proxy\/replicas': minimum: got 0, want 1/],
    [
      'a name for an address',
      { trustedProxies: ['ingress'] },
      /at '\/trustedProxies\/0': 'ingress' does not match/,
    ],
    ['two kinds of Redis', { redis: { url: 'redis://r' } }, /set redis\.enabled to false/],
    ['no Redis', { redis: { enabled: false } }, /name your own Redis in redis\.url/],
    [
      'a Secret for a server that is not installed',
      { redis: { enabled: false, url: 'redis://r', serverSecret: 's' } },
      /redis\.serverSecret is for the chart's Redis/,
    ],
    [
      'two Redis servers',
      { redis: { enabled: false, url: 'redis://r', existingSecret: 's' } },
      /are both set/,
    ],
    [
      'a grace that is used up before SIGTERM',
      { proxy: { preStopSeconds: 700 } },
      /must be longer than proxy\.preStopSeconds/,
    ],
    ['an Ingress without a host', { ingress: { enabled: true } }, /name a host in ingress\.hosts/],
    [
      'a route without a Gateway',
      { httpRoute: { enabled: true } },
      /name a Gateway in httpRoute\.parentRefs/,
    ],
  ])('%s', async (_, values, sentence) => {
    expect(await refusal(values)).toMatch(sentence)
  })

  it('but a parent chart may set any global value', async () => {
    expect(await refusal({ global: { any: 'thing' } })).toBe('rendered')
  })

  it('a cluster that is too old', async () => {
    const old = helm(['template', 'sluice', CHART, '--kube-version', '1.30.0'])
    await expect(old).rejects.toThrow('requires kubeVersion: >=1.31.0-0')
  })
})
