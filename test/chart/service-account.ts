/** The API server as seen by a ServiceAccount of the chart: with a real token, minted by TokenRequest. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { type Kubectl, mustKubectl } from '../../tools/cluster/kubectl.ts'
import { until } from '../harness/gateway.ts'

interface Cluster {
  url: string
  kubeconfig: string
  tls: { ca: string }
  kubectl: Kubectl
}

export interface Access {
  /** A kubeconfig with the token, as a file beside the administrator's. */
  kubeconfig: string
  /** The status of one call; a body is JSON, that of a PATCH a merge patch. */
  call(path: string, method: string, body?: object): Promise<number>
}

export async function accessOf(cluster: Cluster, namespace: string, account: string): Promise<Access> {
  const token = (
    await mustKubectl(cluster.kubectl, 'create', 'token', account, '--namespace', namespace)
  ).trim()
  const kubeconfig = join(dirname(cluster.kubeconfig), `${namespace}-${account}.kubeconfig`)
  writeFileSync(kubeconfig, kubeconfigText(cluster, namespace, token), { mode: 0o600 })
  const call = async (path: string, method: string, body?: object): Promise<number> => {
    const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const sent = request(`${cluster.url}${path}`, {
      method,
      ca: cluster.tls.ca,
      agent: false,
      headers: { authorization: `Bearer ${token}`, 'content-type': contentType },
    })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    const [answer]: IncomingMessage[] = await once(sent, 'response')
    await answer?.resume().toArray()
    return answer?.statusCode ?? 0
  }
  return {
    kubeconfig,
    // At first the server answers 429 for a new kind.
    call: (path, method, body) =>
      until(async () => {
        const status = await call(path, method, body)
        return status !== 429 && status
      }, `an answer to ${method} ${path}`),
  }
}

const kubeconfigText = ({ url, tls }: Cluster, namespace: string, token: string) =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [
      {
        name: 'test',
        cluster: { server: url, 'certificate-authority-data': Buffer.from(tls.ca).toString('base64') },
      },
    ],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace } }],
    users: [{ name: 'test', user: { token } }],
  })
