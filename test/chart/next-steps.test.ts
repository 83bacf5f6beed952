/** The commands that Helm prints after an installation, as a person types them, and the pod of `helm test`. */
import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { mustKubectl } from '../../tools/cluster/kubectl.ts'
import { binary } from '../assets/binaries.ts'
import { controlPlane, type TestControlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/gateway.ts'
import { call, jsonHeaders } from '../harness/http.ts'
import { type Program, startProgram } from '../harness/program.ts'
import { CHART, helm } from './helm.ts'
import { type Pods, startPods } from './pods.ts'

let cluster: TestControlPlane
let namespace = ''
let pods: Pods
let commands: string[] = []

const VALUES = {
  // Other tests share this control plane and its CRDs.
  crds: { install: false },
  rbac: { aggregate: false },
}

beforeAll(async () => {
  cluster = await controlPlane()
  namespace = await cluster.createNamespace()
  const notes = await helm(
    ['install', 'sluice', CHART, '--namespace', namespace, '--kubeconfig', cluster.kubeconfig],
    { ...VALUES, watchNamespaces: [namespace] },
  )
  commands = notes.split('\n').flatMap((line) => /^ {5}((?:kubectl|helm|echo) .*)$/.exec(line)?.[1] ?? [])
  pods = await startPods(cluster, namespace)
}, 90_000)

afterAll(async () => {
  await pods?.stop()
})

const kubectl = (...args: string[]) => mustKubectl(cluster.kubectl, '--namespace', namespace, ...args)

/** Runs a command as it is printed. */
async function type(command: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-c', command], {
    env: {
      PATH: [...['kubectl', 'helm'].map((name) => dirname(binary(name as 'kubectl'))), process.env.PATH].join(
        ':',
      ),
      KUBECONFIG: cluster.kubeconfig,
      HOME: dirname(cluster.kubeconfig),
    },
    timeout: 60_000,
  })
  return stdout
}

const testPod = z.object({
  spec: z.object({
    containers: z.tuple([z.object({ command: z.array(z.string()), args: z.array(z.string()) })]),
  }),
})

/** The container of the pod as a process, with these addresses in place of those of the Services. */
async function runTestPod(api = '', admin = '', seconds?: string): Promise<Program> {
  const pod = testPod.parse(JSON.parse(await kubectl('get', 'pod', 'sluice-test', '-o', 'json')))
  const [{ command, args }] = pod.spec.containers
  expect(command[0]).toBe('/nodejs/bin/node')
  expect(args.slice(1)).toEqual([
    `http://sluice-proxy.${namespace}.svc:8080`,
    `http://sluice-proxy-admin.${namespace}.svc:8081`,
    '60',
  ])
  return startProgram(process.execPath, [...command.slice(1), args[0] ?? '', api, admin, seconds ?? '60'])
}

describe('the next three commands', () => {
  it('wait until the programs run', async () => {
    const available = JSON.stringify({ status: { conditions: [{ type: 'Available', status: 'True' }] } })
    const waiting = type(commands[0] ?? '')
    // No kubelet reports the pods.
    for (const name of ['sluice-controller', 'sluice-proxy'])
      await kubectl('patch', 'deployment', name, '--subresource=status', '--type=merge', '-p', available)
    expect((await waiting).match(/condition met/g)).toHaveLength(2)
  })

  it('let a pod check that a proxy serves', async () => {
    const tested = type(commands[1] ?? '')
    await until(async () => (await kubectl('get', 'pods', '-o', 'name')).includes('sluice-test'), 'the pod')
    const [proxy] = pods.proxies
    const program = await runTestPod(proxy?.base, proxy?.admin)
    const phase = (await program.exited) === 0 ? 'Succeeded' : 'Failed'
    expect(program.output().match(/answers (200|401)$/gm)).toEqual(['answers 200', 'answers 401'])
    const patch = JSON.stringify({ status: { phase } })
    await kubectl('patch', 'pod', 'sluice-test', '--subresource=status', '--type=merge', '-p', patch)
    expect(await tested).toMatch(/TEST SUITE: +sluice-test[\s\S]*Phase: +Succeeded/)
  })

  it('create a key that works', async () => {
    const lines = (await type(commands[2] ?? '')).split('\n')
    const key = lines.at(-1) ?? ''
    expect(key.length).toBeGreaterThan(20)
    const models = await call(`${pods.proxies[0]?.base}/v1/models`, { headers: jsonHeaders(key) })
    expect(models.status).toBe(200)
    expect(
      (await call(`${pods.proxies[0]?.base}/v1/models`, { headers: jsonHeaders(`${key}x`) })).status,
    ).toBe(401)
  })

  it('go to a namespace that the controller reads', async () => {
    const next = async (values: object) =>
      (
        await helm(
          [
            ...['install', 'other', CHART, '--namespace', namespace],
            ...['--kubeconfig', cluster.kubeconfig, '--dry-run=server'],
          ],
          { ...VALUES, ...values },
        )
      )
        .split('NOTES:')
        .at(-1)
    expect(await next({ watchNamespaces: ['team-a', namespace] })).toContain(
      `apply --namespace ${namespace} `,
    )
    expect(await next({ watchNamespaces: ['team-a', 'team-b'] })).toContain('apply --namespace team-a ')
    expect(await next({ controller: { generateKeys: false } })).toContain('kubectl explain apikey.spec')
  })
})

describe('the pod of helm test fails', () => {
  it.each([
    [
      'where no proxy is ready',
      () => [pods.proxies[0]?.base, pods.proxies[0]?.base],
      /readyz answers \d+, not 200/,
    ],
    [
      'where another program answers',
      () => [pods.proxies[0]?.admin, pods.proxies[0]?.admin],
      /answers \d+, not 401/,
    ],
    [
      'where no program answers',
      () => ['http://127.0.0.1:9', pods.proxies[0]?.admin],
      /fetch failed \(.*bad port|ECONNREFUSED/,
    ],
  ])('%s', async (_, addresses, sentence) => {
    const [api, admin] = addresses()
    const program = await runTestPod(api, admin, '1')
    expect(await program.exited).toBe(1)
    expect(program.output()).toMatch(sentence)
  })
})
