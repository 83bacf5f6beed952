/** The stand-in for a kubelet itself: what it promises to the pods of the other tests here. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mustKubectl } from '../../tools/cluster/kubectl.ts'
import { controlPlane, type TestControlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/gateway.ts'
import type { Image } from '../harness/kubelet/images.ts'
import { Kubelet } from '../harness/kubelet/kubelet.ts'
import { sandboxProblem } from '../harness/kubelet/sandbox.ts'

const SHELL: Image = {
  entrypoint: ['/bin/sh', '-c'],
  command: ['true'],
  workingDir: '/work',
  env: { PATH: '/usr/bin:/bin' },
  user: 65532,
  scripts: {},
}
const PATIENT_MS = 60_000

let cluster: TestControlPlane
let namespace = ''
let kubelet: Kubelet

const possible = sandboxProblem() === undefined

beforeAll(async () => {
  if (!possible) return
  cluster = await controlPlane()
  namespace = await cluster.createNamespace()
  kubelet = await Kubelet.start(cluster, {
    namespace,
    images: (image) => (image === 'shell' ? SHELL : undefined),
    nodes: [`node-of-${namespace}`],
    tokenLifeShare: 0.001,
  })
  await apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings' },
    data: { COLOUR: 'red' },
  })
  await apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'hidden' },
    stringData: { key: 's3cret' },
  })
}, 120_000)
afterAll(() => kubelet?.stop(), 60_000)

const kubectl = (...args: string[]) => mustKubectl(cluster.kubectl, '--namespace', namespace, ...args)
const apply = (object: object) =>
  mustKubectl(cluster.kubectl, 'apply', '--namespace', namespace, '--filename', '-', {
    input: JSON.stringify(object),
  })

/** Creates a pod whose container `main` runs a script. */
async function run(name: string, script: string, container: object = {}, spec: object = {}, labels = {}) {
  const main = { name: 'main', image: 'shell', args: [script], ...container }
  await apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels },
    spec: { containers: [main], terminationGracePeriodSeconds: 2, ...spec },
  })
}
const output = (name: string) => kubelet.outputs(namespace).get(name) ?? ''
const printed = (name: string, pattern: RegExp) =>
  until(() => pattern.exec(output(name)), `${pattern} from ${name}`, PATIENT_MS)
const field = (name: string, path: string) => kubectl('get', 'pod', name, '-o', `jsonpath={${path}}`)
const becomes = (name: string, path: string, value: string) =>
  until(async () => (await field(name, path)) === value, `${path} of ${name} to be ${value}`, PATIENT_MS)

describe.runIf(possible)('a container', () => {
  it('has its environment, in which later values may use earlier ones', async () => {
    const env = [
      { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'KEY', valueFrom: { secretKeyRef: { name: 'hidden', key: 'key' } } },
      { name: 'URL', value: 'http://$(NAME)/$(KEY)/$$(NAME)/$(NOTHING)' },
      { name: 'ADDRESS', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      { name: 'ABSENT', valueFrom: { configMapKeyRef: { name: 'settings', key: 'no', optional: true } } },
    ]
    const envFrom = [{ prefix: 'MY_', configMapRef: { name: 'settings' } }]
    const script = 'test -z "$ABSENT" && echo "$URL $ADDRESS $MY_COLOUR $(id -u) $0"; sleep 100'
    await run('environment', script, { env, envFrom, args: [script, '$(NAME)'] })
    const [line] = await printed('environment', /^http.*$/m)
    expect(line).toBe(
      `http://environment/s3cret/$(NAME)/$(NOTHING) ${await field('environment', '.status.podIP')} red ` +
        `${process.getuid?.() === 0 ? 65532 : 0} environment`,
    )
  })

  it('waits until what it names exists', async () => {
    const env = [{ name: 'LATE', valueFrom: { secretKeyRef: { name: 'late', key: 'key' } } }]
    await run('waits', 'echo "has $LATE"; sleep 100', { env })
    await becomes('waits', '.status.containerStatuses[0].state.waiting.reason', 'CreateContainerConfigError')
    await apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'late' }, stringData: { key: 'now' } })
    await printed('waits', /has now/)
  })

  it('sees its volumes, and changes of them, on a root that it cannot write', async () => {
    const volumes = [
      { name: 'settings', configMap: { name: 'settings', items: [{ key: 'COLOUR', path: 'deep/colour' }] } },
      {
        name: 'both',
        projected: { sources: [{ secret: { name: 'hidden' } }, { configMap: { name: 'settings' } }] },
      },
      { name: 'scratch', emptyDir: {} },
    ]
    const volumeMounts = [
      { name: 'settings', mountPath: '/etc/settings' },
      { name: 'both', mountPath: '/both', readOnly: true },
      { name: 'scratch', mountPath: '/scratch' },
    ]
    const script = `
      (echo x > /etc/new) 2>/dev/null || echo root is read-only
      (echo x > /both/new) 2>/dev/null || echo volume is read-only
      echo kept > /scratch/new && cat /scratch/new
      cat /both/key /both/COLOUR; echo
      until grep -q blue /etc/settings/deep/colour; do sleep 0.1; done; echo saw blue`
    const securityContext = { readOnlyRootFilesystem: true }
    await run('files', script, { volumeMounts, securityContext }, { volumes, restartPolicy: 'Never' })
    await printed('files', /^s3cretred$/m)
    await kubectl('patch', 'configmap', 'settings', '--patch', '{"data":{"COLOUR":"blue"}}')
    await printed('files', /saw blue/)
    expect(output('files')).toMatch(/root is read-only\nvolume is read-only\nkept/)
    await becomes('files', '.status.phase', 'Succeeded')
  })

  it('has a token of its own ServiceAccount, which is replaced', async () => {
    const script =
      'for i in 1 2 3 4 5 6 7 8 9; do cat "$0/token"; echo; cat "$0/namespace"; echo; sleep 1; done'
    const path = '/var/run/secrets/kubernetes.io/serviceaccount'
    await run('token', script, { args: [script, path] })
    const tokens = await until(
      () => {
        const all = new Set(output('token').match(/^ey\S+$/gm))
        return all.size > 1 && [...all]
      },
      'two tokens',
      PATIENT_MS,
    )
    expect(output('token')).toContain(`\n${namespace}\n`)
    const claims = atob(tokens[1]?.split('.')[1]?.replaceAll('-', '+').replaceAll('_', '/') ?? '')
    expect(JSON.parse(claims)).toMatchObject({
      sub: `system:serviceaccount:${namespace}:default`,
      'kubernetes.io': { pod: { name: 'token' } },
    })
  })

  it('finds Services by name', async () => {
    const spec = { clusterIP: 'None', selector: { app: 'named' }, ports: [{ port: 80 }] }
    await apply({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'someone' }, spec })
    const script = 'until getent hosts someone; do sleep 0.1; done; sleep 100'
    await run('named', script, {}, {}, { app: 'named' })
    const [, address] = await printed('named', /^(\S+) +someone/m)
    expect(address).toBe(await field('named', '.status.podIP'))
  })
})

describe.runIf(possible)('a pod', () => {
  it('runs its init containers one after the other, and fails if one does', async () => {
    const init = (name: string, script: string) => ({ name, image: 'shell', args: [script] })
    const initContainers = [init('one', 'echo first; exit 0'), init('two', 'echo second')]
    await run('inits', 'echo third', {}, { initContainers, restartPolicy: 'Never' })
    await becomes('inits', '.status.phase', 'Succeeded')
    expect(output('inits')).toBe('first\nsecond\nthird\n')
    await run(
      'failing',
      'echo never',
      {},
      { initContainers: [init('one', 'exit 3')], restartPolicy: 'Never' },
    )
    await becomes('failing', '.status.phase', 'Failed')
    expect(output('failing')).toBe('')
  })

  it('is ready while its readiness probe succeeds, and restarted when its liveness probe fails', async () => {
    const exec = (command: string) => ({ exec: { command: ['sh', '-c', command] }, periodSeconds: 1 })
    const readinessProbe = { ...exec('test -e /tmp/ready'), failureThreshold: 1 }
    const livenessProbe = { ...exec('test ! -e /tmp/dead'), failureThreshold: 1 }
    const startupProbe = { ...exec('test -e /tmp/up'), failureThreshold: 60 }
    const script = `
      trap 'exit 0' TERM
      echo begins; sleep 2; touch /tmp/up; sleep 2; touch /tmp/ready; sleep 3; rm /tmp/ready; sleep 2; touch /tmp/dead
      while :; do sleep 0.1; done`
    await run('probed', script, { readinessProbe, livenessProbe, startupProbe })
    const ready = '.status.conditions[?(@.type=="Ready")].status'
    await becomes('probed', '.status.containerStatuses[0].started', 'true')
    expect(await field('probed', ready)).toBe('False')
    await becomes('probed', ready, 'True')
    await becomes('probed', ready, 'False')
    await becomes('probed', '.status.containerStatuses[0].restartCount', '1')
    await printed('probed', /begins\n.*Liveness probe failed: the command ended with 1\nbegins/)
  })

  it('waits longer between restarts', async () => {
    await run('crashing', 'echo once more; exit 1')
    const state = '.status.containerStatuses[0].state.waiting'
    await becomes('crashing', `${state}.reason`, 'CrashLoopBackOff')
    expect(output('crashing')).toBe('once more\nonce more\n')
    expect(await field('crashing', `${state}.message`)).toBe('back-off 10s')
  })

  it('runs preStop before SIGTERM, and is killed at the end of its grace period', async () => {
    const preStop = { exec: { command: ['sh', '-c', 'sleep 1; touch /tmp/stopping'] } }
    const script = `
      trap 'test -e /tmp/stopping && echo after preStop' TERM
      echo runs; while :; do sleep 0.1; done`
    await run('stubborn', script, { lifecycle: { preStop } }, { terminationGracePeriodSeconds: 4 })
    await printed('stubborn', /runs/)
    const [worker] = kubelet.pods(namespace).filter(({ pod }) => pod.metadata.name === 'stubborn')
    const since = performance.now()
    await kubectl('delete', 'pod', 'stubborn', '--wait=false')
    await printed('stubborn', /after preStop/)
    await worker?.over
    expect(performance.now() - since).toBeGreaterThan(3_900)
    expect(worker?.containers[0]?.exitCode).toBe(137)
    await until(
      async () => (await cluster.kubectl('get', 'pod', 'stubborn', '-n', namespace)).status !== 0,
      'the end',
    )
  })
})
