/**
 * What a user does with the chart, one step after the other: install, use, upgrade, break and remove it, in a cluster
 * that runs its pods (test/harness/kubelet). INSTALL_AWAY_SECONDS is how long the API server is away.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { type ManagedProcess, startProcess } from '../../tools/cluster/process.ts'
import { exampleUpstream } from '../../tools/cluster/servers.ts'
import { type Prometheus, startPrometheusWith } from '../chart/prometheus.ts'
import { exampleText } from '../harness/examples.ts'
import { until } from '../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../harness/http.ts'
import type { PodWorker } from '../harness/kubelet/pod-worker.ts'
import { sandboxProblem } from '../harness/kubelet/sandbox.ts'
import { freePort, ROOT, startSluice } from '../harness/program.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { anthropic, collect, HELLO, openai } from '../harness/sdk.ts'
import { forgetHistory, throttle } from './faults.ts'
import { laterChart } from './other-chart.ts'
import { expectWhole, openAnswers } from './rollout.ts'
import { startTraffic, type Traffic } from './traffic.ts'
import { type HoldingUpstream, startHoldingUpstream } from './upstream.ts'
import { type InstallWorld, NAMESPACE, startInstallWorld, VALUES } from './world.ts'

/** More than a Lease lasts, so that the leader ends. */
const AWAY_MS = Number(process.env.INSTALL_AWAY_SECONDS ?? 8) * 1_000
const EXAMPLE_KEY = 'sk-cluster-0123456789abcdef'
const KEY = 'sk-install-0123456789abcdef'
const FREE_KEY = 'sk-install-free-0123456789'
const WAIT = ['--wait', '--timeout', '120s']
const PATIENT_MS = 60_000
const SLOW_MS = 240_000 + AWAY_MS

let world: InstallWorld
let upstream: HoldingUpstream
let example: ManagedProcess
let examplePort = 0
let traffic: Traffic | undefined

const possible = sandboxProblem() === undefined

beforeAll(async () => {
  if (!possible) return
  world = await startInstallWorld()
  upstream = await startHoldingUpstream()
  examplePort = await freePort()
  example = await startProcess(exampleUpstream(examplePort), join(dirname(world.plane.kubeconfig), 'log'))
}, 120_000)

afterAll(async () => {
  await traffic?.stop().catch(() => undefined)
  await upstream?.close()
  example?.kill('SIGKILL')
  await world?.stop()
}, 60_000)

const ready = (...what: string[]) => world.kubectl('wait', '--for=condition=Ready', '--timeout=60s', ...what)
const models = (key: string) =>
  call(`${world.nginx.base}/v1/models`, { headers: jsonHeaders(key) }).then(({ status }) => status)
const balance = async () =>
  Number(await world.kubectl('get', 'account', 'team', '--output', 'jsonpath={.status.balance}'))

/** What Prometheus finds with the role `pod`, which Debian's has not: a target for each port, with the labels of its pod. */
const discovered = (pods: PodWorker[]) =>
  pods.flatMap(({ pod: { metadata, spec }, place }) =>
    spec.containers
      .flatMap(({ ports }) => ports)
      .map(({ name, containerPort }) => ({
        targets: [`${place.podIP}:${containerPort}`],
        labels: {
          __meta_kubernetes_namespace: metadata.namespace,
          __meta_kubernetes_pod_name: metadata.name,
          __meta_kubernetes_pod_container_port_name: name,
        },
      })),
  )

describe.runIf(possible)('a first installation', () => {
  it(
    'is complete when helm install --wait returns, in a namespace of the restricted profile',
    async () => {
      await world.release('install', VALUES, WAIT)
      const pods = world.kubelet.pods(NAMESPACE)
      expect(pods).toHaveLength(5)
      expect(pods.filter(({ ready }) => !ready)).toEqual([])
      expect(world.kubelet.addresses(NAMESPACE, 'sluice-proxy', 'http')).toHaveLength(2)
    },
    SLOW_MS,
  )

  it('serves the examples once kubectl reports them Ready', async () => {
    for (const file of readdirSync(join(ROOT, 'examples/cluster')).sort())
      await world.apply(exampleText('cluster', file).replaceAll(':8082/', `:${examplePort}/`))
    await ready('modelroutes', '--all')
    await ready('apikeys', '--all')
    await ready('credit/demo-welcome')
    const chat = openai(world.nginx.base, EXAMPLE_KEY).chat.completions
    const answer = await chat.create({ model: 'example', messages: HELLO })
    expect(answer.choices[0]?.message.content).toContain('You said: Hello')
    const chunks = await collect(await chat.create({ model: 'example', messages: HELLO, stream: true }))
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toContain('You said: Hello')
    const generated = await world.kubectl('get', 'secret', 'generated-key', '-o', 'jsonpath={.data.key}')
    const message = await anthropic(world.nginx.base, atob(generated)).messages.create({
      model: 'example',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hello' }],
    })
    expect(message.content[0]).toMatchObject({
      type: 'text',
      text: expect.stringContaining('You said: Hello'),
    })
  })

  it('is scraped as the documentation says, and no alert fires', async () => {
    const page = readFileSync(join(ROOT, 'docs/install.md'), 'utf8')
    const [, indented = ''] = /^( {4}scrape_configs:\n(?: {6}.*\n)+)/m.exec(page) ?? []
    const shape = z.object({
      scrape_configs: z.tuple([z.looseObject({ kubernetes_sd_configs: z.tuple([z.looseObject({})]) })]),
    })
    const [
      {
        kubernetes_sd_configs: [discovery],
        ...config
      },
    ] = shape.parse(parse(indented)).scrape_configs
    expect(discovery).toEqual({ role: 'pod', namespaces: { names: [NAMESPACE] } })
    const prometheus: Prometheus = await startPrometheusWith([
      { ...config, static_configs: discovered(world.kubelet.pods(NAMESPACE)) },
    ])
    try {
      const names = [...world.controllers(), ...world.proxies()].map(({ pod }) => pod.metadata.name).sort()
      await until(async () => {
        const health = Object.entries(await prometheus.targets()).filter(([, state]) => state === 'up')
        return (
          health
            .map(([name]) => name)
            .sort()
            .join() === names.join()
        )
      }, 'every pod to be scraped')
      const leading = 'sum by (namespace) (sluice_controller_leader)'
      await until(async () => (await prometheus.query(leading))[''] === 1, 'one leader')
      await until(
        async () => (await prometheus.query('sum(sluice_requests_total{status="200"})'))[''] === 3,
        'the requests of the examples',
      )
      expect(await prometheus.query('ALERTS{alertstate="firing"}')).toEqual({})
    } finally {
      await prometheus.stop()
    }
  })

  it('is well for sluice status', async () => {
    const path = ['get', 'secret', 'sluice-admin', '--namespace', NAMESPACE]
    const token = atob(await world.kubectl(...path, '--output', 'jsonpath={.data.token}'))
    const env = { SLUICE_ADMIN_TOKEN: token }
    const program = startSluice(env, ['status', '-o', 'json', '--admin', world.admins().join(',')])
    expect([await program.exited, program.output()]).toEqual([0, expect.stringContaining('"leading"')])
  })

  it('opens what is sealed with a new key without a restart', async () => {
    const path = ['secret', 'sluice-sealing', '--namespace', NAMESPACE]
    const old = atob(await world.kubectl('get', ...path, '--output', 'jsonpath={.data.keys}'))
    const keys = `${old}k2:${Buffer.alloc(32, 7).toString('base64')}\n`
    await world.kubectl('patch', ...path, '--patch', JSON.stringify({ stringData: { keys } }))
    const pods = [...world.controllers(), ...world.proxies()].map(({ pod }) => pod.metadata.name)
    await until(
      () => {
        const outputs = world.kubelet.outputs(NAMESPACE)
        return pods.every((name) => /"k2".*sealing keys were read again/.test(outputs.get(name) ?? ''))
      },
      'every pod to read the keys again',
      PATIENT_MS,
    )
  })
})

describe.runIf(possible)('under traffic', () => {
  beforeAll(async () => {
    const price = { price: { input: '1', output: '4' }, maxOutputTokens: 100 }
    await world.apply(
      channel('up', upstream.baseURL) +
        route('model', 'model', ['up'], price) +
        route('held', 'held', ['up'], price) +
        route('free', 'free', ['up']) +
        account('team', '100') +
        apiKey('app', KEY, { accountRef: { name: 'team' } }) +
        apiKey('fleeting', `${KEY}-fleeting`) +
        apiKey('free', FREE_KEY),
    )
    await ready(
      'apikey/app',
      'apikey/fleeting',
      'apikey/free',
      'modelroute/held',
      'modelroute/free',
      'credit/team-credit',
    )
    const free = { key: FREE_KEY, model: 'free' }
    traffic = startTraffic(world.nginx.base, [{ key: KEY, model: 'model' }, free], world.logs)
  })

  /** New answers have come, and all were good. */
  const goesOn = async () => {
    const before = traffic?.served() ?? 0
    await until(() => (traffic?.served() ?? 0) > before + 10, 'answers', PATIENT_MS)
    expect(traffic?.problems()).toEqual([])
  }

  it(
    'kubectl rollout restart cuts none of 200 streams and 50 WebSockets, and refuses nothing',
    async () => {
      const old = world.proxies()
      const open = await openAnswers(world, KEY)
      const where = ['deployment/sluice-proxy', '--namespace', NAMESPACE]
      await world.kubectl('rollout', 'restart', ...where)
      await world.kubectl('rollout', 'status', ...where, '--timeout=120s')
      await until(() => old.every(({ ending }) => ending), 'the old pods to stop', PATIENT_MS)
      await goesOn()
      await expectWhole(open, upstream)
      await Promise.all(old.map(({ over }) => over))
      expect(old.map(({ containers }) => containers[0]?.exitCode)).toEqual([0, 0])
      await goesOn()
    },
    SLOW_MS,
  )

  it(
    'a leader that is killed loses no change, and no client notices',
    async () => {
      const leader = await world.leader()
      leader.containers[0]?.kill()
      await world.apply(apiKey('later', `${KEY}-later`, { accountRef: { name: 'team' } }))
      await ready('apikey/later')
      expect(await models(`${KEY}-later`)).toBe(200)
      await until(() => leader.ready && leader.containers[0]?.restartCount === 1, 'its restart', PATIENT_MS)
      await goesOn()
    },
    SLOW_MS,
  )

  it(
    'an API server that is away, and then has no history, loses no change and wipes no table',
    async () => {
      world.toApiServer.lead(undefined)
      const since = performance.now()
      // All happens while no controller can see it.
      await world.apply(apiKey('meanwhile', `${KEY}-meanwhile`))
      await world.kubectl('delete', 'apikey', 'fleeting')
      await world.kubectl(
        'patch',
        'modelroute',
        'free',
        '--type=merge',
        '--patch',
        '{"spec":{"model":"gratis"}}',
      )
      await forgetHistory(world)
      await pause(Math.max(0, AWAY_MS - (performance.now() - since)))
      await goesOn()
      const forgotten = 'no longer has the version of this watch'
      expect(world.logs()).not.toContain(forgotten)
      await traffic?.stop()
      world.toApiServer.lead(world.plane.ports.apiserver)
      traffic = startTraffic(world.nginx.base, [{ key: KEY, model: 'model' }], world.logs)
      await ready('apikey/meanwhile')
      await until(async () => (await models(`${KEY}-meanwhile`)) === 200, 'the new key')
      await until(async () => (await models(`${KEY}-fleeting`)) === 401, 'the deletion', PATIENT_MS)
      const gratis = () =>
        call(`${world.nginx.base}/v1/chat/completions`, {
          headers: jsonHeaders(FREE_KEY),
          body: chatBody('gratis'),
        })
      await until(async () => (await gratis()).status === 200, 'the new name of the model', PATIENT_MS)
      await until(() => world.logs().includes(forgotten), 'a watch that begins anew', PATIENT_MS)
      await goesOn()
    },
    SLOW_MS,
  )

  it(
    'controllers that start while the API server throttles them wipe no table',
    async () => {
      const end = await throttle(world)
      const controllers = '--selector=app.kubernetes.io/component=controller'
      await world.kubectl('delete', 'pods', controllers, '--namespace', NAMESPACE)
      await world.apply(apiKey('throttled', `${KEY}-throttled`))
      const refused = () =>
        world.controllers().filter(({ pod }) => {
          const output = world.kubelet.outputs(NAMESPACE).get(pod.metadata.name) ?? ''
          return output.includes('modelroutes: 429 ')
        })
      await until(() => refused().length === 2, 'both controllers to be throttled', PATIENT_MS)
      expect(await models(`${KEY}-throttled`)).toBe(401)
      await goesOn()
      await end()
      await ready('apikey/throttled')
      expect(await models(`${KEY}-throttled`)).toBe(200)
      await goesOn()
    },
    SLOW_MS,
  )

  it(
    'an upgrade brings a new field of a CRD, and a rollback removes it',
    async () => {
      const patch = ['patch', 'channel', 'up', '--type=merge', '--patch', '{"spec":{"region":"eu"}}']
      const region = () => world.kubectl('get', 'channel', 'up', '--output', 'jsonpath={.spec.region}')
      const early = channel('early', upstream.baseURL, { region: 'eu' })
      await expect(world.apply(early)).rejects.toThrow('unknown field "spec.region"')
      const chart = laterChart('0.2.0')
      try {
        const old = world.proxies()
        const values = { proxy: { podAnnotations: { version: 'later' } } }
        // As docs/install.md says.
        await world.release('upgrade', values, ['--reset-then-reuse-values', ...WAIT], chart)
        await world.kubectl(...patch)
        expect(await region()).toBe('eu')
        await goesOn()
        // One more change of another resource, which the controller reads as before.
        await world.apply(apiKey('upgraded', `${KEY}-upgraded`))
        await ready('apikey/upgraded', 'channel/up', 'modelroute/model')
        expect(world.proxies().filter((pod) => old.includes(pod))).toEqual([])
        await world.release('rollback', {}, ['1', ...WAIT])
        await until(async () => (await region()) === '', 'the field to be gone', PATIENT_MS)
        await ready('channel/up', 'modelroute/model')
        expect(await models(`${KEY}-upgraded`)).toBe(200)
        await goesOn()
      } finally {
        rmSync(dirname(chart), { recursive: true })
      }
    },
    SLOW_MS,
  )
})

describe.runIf(possible)('a release that is removed', () => {
  it(
    'leaves resources and money behind for the next one',
    async () => {
      await traffic?.stop()
      traffic = undefined
      const before = await balance()
      expect(before).toBeLessThan(100)
      const pods = world.kubelet.pods(NAMESPACE)
      await world.release('uninstall', {}, WAIT)
      await Promise.all(pods.map(({ over }) => over))
      await world.release('install', VALUES, WAIT)
      await ready('apikey/app', 'modelroute/model')
      expect(await balance()).toBe(before)
      const answer = await openai(world.nginx.base, KEY).chat.completions.create({
        model: 'model',
        messages: HELLO,
      })
      expect(answer.choices[0]?.message.content).toBe('Hello there')
    },
    SLOW_MS,
  )
})

it.runIf(possible)('logs no key of a client', () => {
  expect(world.kubelet.outputs(NAMESPACE).size).toBeGreaterThanOrEqual(5)
  for (const secret of [EXAMPLE_KEY, KEY, FREE_KEY]) expect(world.logs()).not.toContain(secret)
})
