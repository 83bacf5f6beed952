import { expect, it } from 'vitest'
import { KubeError } from '../../controller/kube/types.ts'
import { CommandFailure } from '../command.ts'
import { readRoutes } from './routes.ts'

const item = (name: string, spec: object) => ({ metadata: { namespace: 'team', name, uid: '1' }, spec })

/** Lists the routes of a server that answers every request with `answer`. */
async function listed(answer: unknown, namespace?: string) {
  const paths: string[] = []
  let closed = 0
  const connect = async () => ({
    async request({ path }: { path: string }) {
      paths.push(path)
      if (answer instanceof Error) throw answer
      return answer
    },
    async close() {
      closed++
    },
  })
  const options = namespace === undefined ? {} : { namespace }
  const outcome = await readRoutes(options, { env: {} }, connect).catch((error: unknown) => error)
  expect(closed).toBe(1)
  return { outcome, paths }
}

it('lists the routes of a cluster, sorted', async () => {
  const price = { input: '1', output: '2' }
  const channels = [{ name: 'c', model: 'up' }, { name: 'd' }, { name: 'e', model: 'x/*' }]
  const items = [
    item('b', { model: 'm', channels, price }),
    item('a', { model: 'y*', channels: [{ name: 'c' }] }),
  ]
  const { outcome, paths } = await listed({ items })
  expect(outcome).toEqual([
    { id: 'team/a', model: 'y*', upstream: [], price: undefined, free: false },
    { id: 'team/b', model: 'm', upstream: ['up', 'm'], price, free: false },
  ])
  expect(paths).toEqual(['/apis/sluice.dev/v1alpha1/modelroutes'])
})

it('lists those of one namespace', async () => {
  const { paths } = await listed({ items: [item('a', { model: 'm', channels: [{ name: 'c' }] })] }, 'team')
  expect(paths).toEqual(['/apis/sluice.dev/v1alpha1/namespaces/team/modelroutes'])
})

it.each([
  [{ items: [] }, 'there is no ModelRoute in the cluster'],
  [{ items: [item('a', { model: 7 })] }, 'the ModelRoute team/a has a spec that this version cannot read'],
  [new KubeError('forbidden', 403), 'cannot list the ModelRoutes of the cluster: forbidden'],
])('fails in one sentence: %j', async (answer, message) => {
  expect((await listed(answer)).outcome).toEqual(new CommandFailure(message))
})

it('fails without a cluster', async () => {
  const connect = () => Promise.reject(new Error('no kubeconfig'))
  await expect(readRoutes({}, { env: {} }, connect)).rejects.toThrow(
    'cannot connect to a cluster (no kubeconfig); name resource files with -f',
  )
})
