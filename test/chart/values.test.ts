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
  autoscaling: { enabled: true, targetRequestsInFlight: 400 },
  networkPolicy: { egress: { enabled: true } },
  extraObjects: ['apiVersion: v1\nkind: ConfigMap\nmetadata: { name: "{{ .Release.Name }}-extra" }'],
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

  it('TLS files of Redis, for both programs', async () => {
    const objects = await render({
      redis: {
        enabled: false,
        existingSecret: 'mine',
        tls: { existingSecret: 'redis-tls', cert: 'tls.crt', key: 'tls.key' },
      },
    })
    for (const component of ['controller', 'proxy']) {
      const workload = find(objects, 'Deployment', `sluice-${component}`)
      const { volumes, containers } = podSpecOf(workload)
      expect(volumes).toContainEqual({
        name: 'redis-tls',
        secret: expect.objectContaining({ secretName: 'redis-tls' }),
      })
      const [mount] = z
        .array(z.object({ name: z.string(), mountPath: z.string(), readOnly: z.literal(true) }))
        .parse(containers[0].volumeMounts)
        .filter(({ name }) => name === 'redis-tls')
      expect(envOf(workload)).toMatchObject({
        SLUICE_REDIS_CA_FILE: `${mount?.mountPath}/ca.crt`,
        SLUICE_REDIS_CERT_FILE: `${mount?.mountPath}/tls.crt`,
        SLUICE_REDIS_KEY_FILE: `${mount?.mountPath}/tls.key`,
      })
    }
    // A client certificate is optional.
    const one = await render({
      redis: { enabled: false, existingSecret: 'mine', tls: { existingSecret: 'redis-tls' } },
    })
    const names = Object.keys(envOf(find(one, 'Deployment', 'sluice-proxy')))
    expect(names.filter((name) => name.endsWith('_FILE'))).toEqual([
      'SLUICE_REDIS_CA_FILE',
      'SLUICE_SEALING_KEYS_FILE',
    ])
  })

  it('an autoscaler on CPU, on requests in flight, or on both', async () => {
    const metrics = async (autoscaling: object) =>
      specOf(
        find(
          await render({ autoscaling: { enabled: true, ...autoscaling } }),
          'HorizontalPodAutoscaler',
          'sluice-proxy',
        ),
      ).metrics
    const cpu = {
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } },
    }
    const inFlight = {
      type: 'Pods',
      pods: {
        metric: { name: 'sluice_requests_in_flight' },
        target: { type: 'AverageValue', averageValue: '400' },
      },
    }
    expect(await metrics({ targetCPUUtilizationPercentage: 70 })).toEqual([cpu])
    expect(await metrics({ targetCPUUtilizationPercentage: 0, targetRequestsInFlight: 400 })).toEqual([
      inFlight,
    ])
    expect(await metrics({ targetCPUUtilizationPercentage: 70, targetRequestsInFlight: 400 })).toEqual([
      cpu,
      inFlight,
    ])
  })

  it('egress policies: each program calls only what it needs', async () => {
    const upstreams = [{ to: [{ ipBlock: { cidr: '203.0.113.0/24' } }], ports: [{ port: 443 }] }]
    const apiServer = [{ to: [{ ipBlock: { cidr: '198.51.100.1/32' } }], ports: [{ port: 6443 }] }]
    const values = { networkPolicy: { egress: { enabled: true, upstreams, apiServer } } }
    const policy = async (component: string, more: object = {}) =>
      specOf(find(await render({ ...values, ...more }), 'NetworkPolicy', `sluice-${component}`))
    const dns = {
      ports: [
        { port: 53, protocol: 'UDP' },
        { port: 53, protocol: 'TCP' },
      ],
    }
    const own = {
      ports: [{ port: 'redis' }],
      to: [
        {
          podSelector: {
            matchLabels: {
              'app.kubernetes.io/name': 'sluice',
              'app.kubernetes.io/instance': 'sluice',
              'app.kubernetes.io/component': 'redis',
            },
          },
        },
      ],
    }
    expect(await policy('controller')).toMatchObject({
      policyTypes: ['Ingress', 'Egress'],
      egress: [own, dns, ...apiServer],
    })
    expect(await policy('proxy')).toMatchObject({ egress: [own, dns, ...upstreams] })
    expect(await policy('test')).toMatchObject({
      egress: [
        {
          ports: [{ port: 'http' }, { port: 'admin' }],
          to: [{ podSelector: { matchLabels: { 'app.kubernetes.io/component': 'proxy' } } }],
        },
        dns,
      ],
    })
    const external = { redis: { enabled: false, url: 'redis://r' } }
    expect(await policy('proxy', external)).toMatchObject({
      egress: [{ ports: [{ port: 6379 }, { port: 6380 }] }, dns, ...upstreams],
    })
    const off = find(await render(), 'NetworkPolicy', 'sluice-proxy')
    expect(specOf(off)).toMatchObject({ policyTypes: ['Ingress'] })
    expect(specOf(off)).not.toHaveProperty('egress')
  })

  it('peers of the API, and always the pod of helm test', async () => {
    const peer = { namespaceSelector: { matchLabels: { name: 'ingress' } } }
    const objects = await render({ networkPolicy: { apiFrom: [peer] } })
    const pod = find(objects, 'Pod', 'sluice-test')
    expect(specOf(find(objects, 'NetworkPolicy', 'sluice-test'))).toEqual({
      podSelector: { matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': 'test' }) },
      policyTypes: ['Ingress'],
    })
    expect(specOf(find(objects, 'NetworkPolicy', 'sluice-proxy'))).toMatchObject({
      ingress: [
        { ports: [{ port: 'admin' }] },
        {
          ports: [{ port: 'http' }],
          from: [
            peer,
            {
              podSelector: {
                matchLabels: expect.toSatisfy((labels: object) =>
                  Object.entries(labels).every(
                    ([name, value]) => z.looseObject({}).parse(pod.metadata.labels)[name] === value,
                  ),
                ),
              },
            },
          ],
        },
      ],
    })
  })

  it('topology, a timeout of the route, and more objects', async () => {
    const spread = { topologyKey: 'rack', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' }
    const objects = await render({
      proxy: { topologySpreadConstraints: [spread] },
      httpRoute: { enabled: true, parentRefs: [{ name: 'gateway' }], requestTimeout: '' },
      extraObjects: [
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-one' } },
        'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ include "sluice.fullname" . }}-two }\n',
      ],
    })
    expect(podSpecOf(find(objects, 'Deployment', 'sluice-proxy')).topologySpreadConstraints).toEqual([spread])
    expect(
      podSpecOf(find(objects, 'Deployment', 'sluice-controller')).topologySpreadConstraints,
    ).toMatchObject([
      { topologyKey: 'kubernetes.io/hostname' },
      { topologyKey: 'topology.kubernetes.io/zone' },
    ])
    expect(JSON.stringify(find(objects, 'HTTPRoute', 'sluice-proxy'))).not.toContain('timeouts')
    expect(objects.filter(({ kind }) => kind === 'ConfigMap').map(({ metadata }) => metadata.name)).toEqual([
      'sluice-one',
      'sluice-two',
    ])
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
    expect(kindsOf(objects)).toEqual([
      'Deployment',
      'Pod',
      'Secret',
      'Service',
      'ServiceAccount',
      'StatefulSet',
    ])
  })

  it('another release has its own names', async () => {
    const yaml = await helm(['template', 'blue', CHART, '--namespace', 'gateway', '--kube-version', '1.36.0'])
    expect(yaml).toContain('name: blue-sluice-proxy\n')
    expect(yaml).toContain('name: gateway:blue-sluice-controller\n')
    expect(yaml).not.toMatch(/name: sluice-/)
  })
})

it('is clean for helm lint with every option', async () => {
  expect(await helm(['lint', '--strict', CHART], EVERYTHING)).toContain('0 chart(s) failed')
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
    [
      'a number where a name belongs',
      { proxy: { priorityClassName: 7 } },
      /at '\/proxy\/priorityClassName': got number, want string/,
    ],
    [
      'a rule that is no object',
      { networkPolicy: { egress: { upstreams: ['10.0.0.0/8'] } } },
      /at '\/networkPolicy\/egress\/upstreams\/0': got string, want object/,
    ],
    [
      'a timeout without a unit',
      { httpRoute: { requestTimeout: '30' } },
      /at '\/httpRoute\/requestTimeout': '30' does not match/,
    ],
    [
      'TLS files for the chart’s Redis',
      { redis: { tls: { existingSecret: 's' } } },
      /redis\.tls is for your own Redis/,
    ],
    [
      'TLS files for an address without TLS',
      { redis: { enabled: false, url: 'redis://r', tls: { existingSecret: 's' } } },
      /redis\.tls needs an address that begins with rediss/,
    ],
    [
      'a certificate without its key',
      { redis: { enabled: false, url: 'rediss://r', tls: { existingSecret: 's', cert: 'tls.crt' } } },
      /redis\.tls\.cert and redis\.tls\.key belong together/,
    ],
    [
      'an autoscaler without a target',
      { autoscaling: { enabled: true, targetCPUUtilizationPercentage: 0 } },
      /set targetCPUUtilizationPercentage, targetRequestsInFlight or both/,
    ],
    [
      'more proxies at least than at most',
      { autoscaling: { enabled: true, minReplicas: 20 } },
      /minReplicas is larger than autoscaling\.maxReplicas/,
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
