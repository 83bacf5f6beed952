import { describe, expect, it } from 'vitest'
import { type KubeCall, KubeError } from '../../controller/kube/types.ts'
import { podPorts } from './pods.ts'

/** A cluster that answers by path, and the requests that it got. */
function cluster(answers: Record<string, unknown>, namespace?: string) {
  const calls: KubeCall[] = []
  const state = { closed: 0 }
  const connect = async () => ({
    namespace,
    async request(call: KubeCall): Promise<unknown> {
      calls.push(call)
      const answer = answers[call.path]
      if (answer instanceof Error) throw answer
      if (answer === undefined) throw new KubeError('not found', 404, { reason: 'NotFound' })
      return answer
    },
    async close() {
      state.closed++
    },
  })
  return { connect, calls, state }
}

const pods = (...names: string[]) => ({
  items: names.map((name) => ({
    metadata: { name },
    status: { phase: name.startsWith('old') ? 'Succeeded' : 'Running' },
  })),
})
const PODS = '/api/v1/namespaces/sluice/pods'
const SECRET = '/api/v1/namespaces/sluice/secrets/sluice-admin'
const TOKEN = 'a-token-of-the-chart'
const page = (pod: string, path: string) => `${PODS}/http:${pod}:8081/proxy${path}`

describe('pods as admin ports', () => {
  it('reads each running pod through the API server, with the token of the Secret', async () => {
    const { connect, calls, state } = cluster({
      [PODS]: pods('controller-0', 'proxy-1', 'old-2'),
      [SECRET]: { data: { token: Buffer.from(TOKEN).toString('base64') } },
      [page('controller-0', '/keys')]: { name: 'k' },
    })
    const { ports, close } = await podPorts({ namespace: undefined, token: undefined }, connect)
    expect(ports.map(({ name }) => name)).toEqual(['pod/controller-0', 'pod/proxy-1'])
    expect(await ports[0]?.get('/keys', { name: 'k' })).toEqual({ name: 'k' })
    expect(calls.at(-1)).toMatchObject({ query: { name: 'k' }, headers: { 'x-sluice-admin-token': TOKEN } })
    expect(calls[0]?.query?.labelSelector).toContain('app.kubernetes.io/name=sluice')
    await close()
    expect(state.closed).toBe(1)
  })

  it('uses the given token, and none if the Secret may not be read', async () => {
    const asked = async (token: string | undefined) => {
      const { connect, calls } = cluster({
        [PODS]: pods('proxy-1'),
        [SECRET]: new KubeError('secrets is forbidden', 403, { reason: 'Forbidden' }),
        [page('proxy-1', '/status')]: {},
      })
      const { ports } = await podPorts({ namespace: 'sluice', token }, connect)
      await ports[0]?.get('/status')
      return { headers: calls.at(-1)?.headers, secretRead: calls.some(({ path }) => path === SECRET) }
    }
    expect(await asked('given')).toEqual({ headers: { 'x-sluice-admin-token': 'given' }, secretRead: false })
    expect(await asked(undefined)).toEqual({ headers: {}, secretRead: true })
  })

  it('searches the namespace of the kubeconfig if sluice has no pods', async () => {
    const { connect } = cluster({ [PODS]: pods(), '/api/v1/namespaces/mine/pods': pods('proxy-1') }, 'mine')
    const { ports } = await podPorts({ namespace: undefined, token: TOKEN }, connect)
    expect(ports.map(({ name }) => name)).toEqual(['pod/proxy-1'])
  })

  it('names the namespaces that have no pods, and closes the connection', async () => {
    const { connect, state } = cluster(
      { [PODS]: pods('old-1'), '/api/v1/namespaces/mine/pods': pods() },
      'mine',
    )
    await expect(podPorts({ namespace: undefined, token: TOKEN }, connect)).rejects.toThrow(
      'no pod of Sluice runs in the namespace sluice or mine',
    )
    expect(state.closed).toBe(1)
  })

  it('says why the cluster does not answer', async () => {
    const { connect } = cluster({ [PODS]: new KubeError('pods is forbidden', 403, { reason: 'Forbidden' }) })
    await expect(podPorts({ namespace: 'sluice', token: TOKEN }, connect)).rejects.toThrow(
      'cannot list the pods of the cluster: pods is forbidden',
    )
    const none = () => Promise.reject(new Error('no kubeconfig'))
    await expect(podPorts({ namespace: 'sluice', token: TOKEN }, none)).rejects.toThrow(
      'cannot connect to a cluster (no kubeconfig)',
    )
  })

  it.each([
    [new KubeError('no route to host', 0), 'cannot be reached through the API server (no route to host)', 0],
    [new KubeError('403', 403), 'refuses access: set SLUICE_ADMIN_TOKEN to its admin token', 403],
    [new KubeError('pods/proxy is forbidden', 403, { reason: 'Forbidden' }), 'pods/proxy is forbidden', 403],
  ])('%s: reports the message of the pod or the server', async (error, message, status) => {
    const { connect } = cluster({ [PODS]: pods('proxy-1'), [page('proxy-1', '/status')]: error })
    const { ports } = await podPorts({ namespace: 'sluice', token: TOKEN }, connect)
    await expect(ports[0]?.get('/status')).rejects.toMatchObject({ name: 'AdminFailure', message, status })
  })
})
