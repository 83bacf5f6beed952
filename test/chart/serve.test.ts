/** An installed release in operation: its programs with its Secrets, rights, Redis and users, scraped by Prometheus. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { mustKubectl } from '../../tools/cluster/kubectl.ts'
import { controlPlane, type TestControlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../harness/http.ts'
import { account, apiKey, channel, documents, route } from '../harness/resources.ts'
import { HELLO, openai } from '../harness/sdk.ts'
import { type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'
import { CHART, helm } from './helm.ts'
import { type Pods, startPods } from './pods.ts'
import { type Prometheus, startPrometheus } from './prometheus.ts'

const KEY = 'sk-chart-0123456789abcdef'

let cluster: TestControlPlane
let namespace = ''
let upstream: ScriptedUpstream
let pods: Pods

beforeAll(async () => {
  cluster = await controlPlane()
  namespace = await cluster.createNamespace()
  upstream = await startUpstream()
  await helm(['install', 'sluice', CHART, '--namespace', namespace, '--kubeconfig', cluster.kubeconfig], {
    // Other tests share this control plane and its CRDs.
    crds: { install: false },
    rbac: { aggregate: false },
    watchNamespaces: [namespace],
    secrets: { labelSelector: 'app=model-gateway' },
    trustedProxies: ['192.0.2.0/24'],
  })
  pods = await startPods(cluster, namespace)
}, 90_000)

afterAll(async () => {
  await pods?.stop()
  await upstream?.close()
})

const kubectl = (...args: string[]) => mustKubectl(cluster.kubectl, '--namespace', namespace, ...args)
const apply = (yaml: string) =>
  mustKubectl(cluster.kubectl, 'apply', '--namespace', namespace, '--filename', '-', { input: yaml })
const chat = (base: string | undefined, key: string) =>
  call(`${base}/v1/chat/completions`, { headers: jsonHeaders(key), body: chatBody('model') })

describe('a release in operation', () => {
  it('serves, on every proxy, the resources that kubectl reports Ready', async () => {
    await apply(
      channel('up', upstream.baseURL) +
        route('model', 'model', ['up'], { price: { input: '1.00', output: '4.00' }, maxOutputTokens: 100 }) +
        account('team', '5.00') +
        apiKey('app', KEY, { accountRef: { name: 'team' } }),
    )
    // The release reads only labelled Secrets.
    const missing = '--for=jsonpath={.status.conditions[?(@.type=="ResolvedRefs")].reason}=RefNotFound'
    await kubectl('wait', missing, 'apikey/app', '--timeout=15s')
    await kubectl('label', 'secret', 'app-key', 'app=model-gateway')
    await kubectl(
      'wait',
      '--for=condition=Ready',
      'apikey/app',
      'modelroute/model',
      'credit/team-credit',
      '--timeout=15s',
    )
    for (const { base } of pods.proxies) {
      const answer = await openai(base ?? '', KEY).chat.completions.create({
        model: 'model',
        messages: HELLO,
      })
      expect(answer.choices[0]?.message.content).toBe('Hello there')
    }
    expect((await chat(pods.proxies[0]?.base, 'sk-unknown-0123456789')).status).toBe(401)
  })

  it('creates a key if none is named', async () => {
    await apply(
      documents({
        apiVersion: 'sluice.dev/v1alpha1',
        kind: 'ApiKey',
        metadata: { name: 'minted' },
        spec: {},
      }) + route('gratis', 'gratis', ['up']),
    )
    await kubectl('wait', '--for=condition=Ready', 'apikey/minted', 'modelroute/gratis', '--timeout=15s')
    const key = Buffer.from(
      await kubectl('get', 'secret', 'minted-key', '-o', 'jsonpath={.data.key}'),
      'base64',
    ).toString()
    for (const { base } of pods.proxies) {
      const models = await call(`${base}/v1/models`, { headers: jsonHeaders(key) })
      expect({ status: models.status, text: models.text }).toMatchObject({
        status: 200,
        text: expect.stringContaining('"gratis"'),
      })
    }
  })

  it('reports its work to people, with these rights', async () => {
    await until(async () => (await kubectl('get', 'events')).includes('minted'), 'an event for the key')
    await until(
      async () =>
        (await kubectl('get', 'account', 'team', '-o', 'jsonpath={.status.credited}')).startsWith('5'),
      'the account’s status',
    )
    for (const { program } of pods.controllers) expect(program.output()).not.toMatch(/forbidden|NOPERM/i)
    for (const { program } of pods.proxies) expect(program.output()).not.toMatch(/NOPERM/)
  })

  it.each([
    ['its namespace', ['--namespace'], 'yes'],
    ['another one', ['--namespace=default'], 'no'],
    ['all', ['--all-namespaces'], 'no'],
  ])('lets the controller read Secrets of %s: %s', async (_, [where = ''], answer) => {
    const account = `--as=system:serviceaccount:${namespace}:sluice-controller`
    const place = where === '--namespace' ? `--namespace=${namespace}` : where
    for (const verb of ['get', 'list', 'watch', 'create'])
      expect((await cluster.kubectl('auth', 'can-i', verb, 'secrets', account, place)).stdout.trim()).toBe(
        answer,
      )
  })

  it('logs no secret', async () => {
    const secrets = JSON.parse(await kubectl('get', 'secrets', '-o', 'json')) as {
      items: { type: string; data: Record<string, string> }[]
    }
    const values = secrets.items
      .filter(({ type }) => type === 'Opaque')
      .flatMap(({ data }) => Object.entries(data))
      .filter(([name]) => /password|token|keys|key/.test(name))
      .map(([, value]) => Buffer.from(value, 'base64').toString().trim())
    expect(values.length).toBeGreaterThan(5)
    for (const { name, program } of [...pods.controllers, ...pods.proxies])
      for (const value of values) expect([name, program.output().includes(value)]).toEqual([name, false])
  })

  it('guards its admin port', async () => {
    const { admin = '' } = pods.proxies[0] ?? {}
    const token = Buffer.from(
      await kubectl('get', 'secret', 'sluice-admin', '-o', 'jsonpath={.data.token}'),
      'base64',
    )
    expect((await fetch(`${admin}/status`)).status).toBe(403)
    expect((await fetch(`${admin}/status`, { headers: { 'x-sluice-admin-token': `${token}` } })).status).toBe(
      200,
    )
  })
})

describe('metrics', () => {
  let prometheus: Prometheus
  const everyone = () => [...pods.controllers, ...pods.proxies]
  const hostsOf = (some: { admin: string }[]) => some.map(({ admin }) => new URL(admin).host).sort()
  beforeAll(async () => {
    prometheus = await startPrometheus({
      controller: pods.controllers.map(({ admin }) => admin),
      proxy: pods.proxies.map(({ admin }) => admin),
    })
  })
  afterAll(() => prometheus?.stop())

  it.each(['controllers', 'proxies'] as const)('of %s are clean for promtool', async (which) => {
    const text = await (await fetch(`${pods[which][0]?.admin}/metrics`)).text()
    const { status, stderr, stdout } = spawnSync('promtool', ['check', 'metrics'], {
      input: text,
      encoding: 'utf8',
    })
    expect({ status, output: `${stdout}${stderr}` }).toEqual({ status: 0, output: '' })
  })

  it('reach Prometheus, from both programs', async () => {
    const all = hostsOf(everyone())
    await until(async () => {
      const health = await prometheus.targets()
      return all.every((host) => health[host] === 'up')
    }, 'every target to be up')
    const served = await until(async () => {
      const found = await prometheus.query('sum by (instance) (sluice_requests_total{status="200"})')
      return Object.keys(found).length === 2 && found
    }, 'requests of both proxies')
    expect(Object.keys(served).sort()).toEqual(hostsOf(pods.proxies))
    expect(await prometheus.query('sum(sluice_controller_leader)')).toEqual({ '': 1 })
    const generations = await prometheus.query('sluice_table_generation{job="proxy"}')
    expect(Object.keys(generations).sort()).toEqual(hostsOf(pods.proxies))
    expect(new Set(Object.values(generations)).size).toBe(1)
    const alerts = async () => Object.keys(await prometheus.query('ALERTS')).length
    await until(async () => (await alerts()) === 0, 'no alert')
  })

  it('have the number that an autoscaler counts, under the name in the values', async () => {
    const values = z.object({ autoscaling: z.object({ requestsInFlightMetric: z.string() }) })
    const text = readFileSync(join(CHART, 'values.yaml'), 'utf8')
    const { requestsInFlightMetric } = values.parse(parse(text)).autoscaling
    const found = await prometheus.query(`${requestsInFlightMetric}{namespace="gateway"}`)
    expect(Object.keys(found).sort()).toEqual(hostsOf(pods.proxies))
  })

  it('have every name that an alert uses', async () => {
    const texts = await Promise.all(
      everyone().map(async ({ admin }) => (await fetch(`${admin}/metrics`)).text()),
    )
    const rules = readFileSync(join(CHART, 'files', 'rules.yaml'), 'utf8')
    const inRules = new Set([...rules.matchAll(/\bsluice_\w+/g)].map(([name]) => name))
    expect(inRules.size).toBeGreaterThan(5)
    expect([...inRules].filter((name) => !texts.some((text) => text.includes(`# TYPE ${name} `)))).toEqual([])
  })
})
