/** Address of the API server and our credentials: from a kubeconfig, or from the files of a pod. */

import type { Agent as HttpsAgent } from 'node:https'
import {
  type Cluster,
  type DispatcherOptions,
  HttpMethod,
  KubeConfig,
  RequestContext,
} from '@kubernetes/client-node'
import { withoutEnd } from '../../contract/text.ts'

/** Headers and connection options for a request. */
export interface Credentials {
  headers: Readonly<Record<string, string>>
  /** TLS and proxy options; deeply equal to the previous ones if nothing has changed. */
  connection: DispatcherOptions
}

export interface CredentialsOptions {
  /** Path of a kubeconfig. Default: KUBECONFIG, then the one in the home folder, then the pod's own account. */
  kubeconfig?: string
}

/**
 * The client library supports every kind of credentials (token files that are read again, exec plugins, client
 * certificates), but would create a connection pool for each request. This class takes only the options for the pool.
 */
export class CredentialSource {
  readonly server: string
  /** Namespace of the pod, or of the kubeconfig's context. */
  readonly namespace: string | undefined
  readonly #config = new PoollessConfig()

  /** Throws if there is no configuration. */
  constructor({ kubeconfig }: CredentialsOptions) {
    const config = this.#config
    if (kubeconfig === undefined) config.loadFromDefault()
    else config.loadFromFile(kubeconfig)
    const cluster = config.getCurrentCluster()
    // The library falls back to a server without TLS on port 8080, which no cluster has had for years.
    if (cluster === null || config.getCurrentContext() === 'loaded-context')
      throw new Error(
        'no Kubernetes configuration: set KUBECONFIG to a kubeconfig with a current context, or run in a pod with a ServiceAccount token',
      )
    this.server = withoutEnd(cluster.server, '/')
    this.namespace = config.getContextObject(config.getCurrentContext())?.namespace?.trim() || undefined
  }

  /** Rejects if a file is missing or a plugin fails, without quoting the output of the plugin. */
  async current(): Promise<Credentials> {
    const context = new RequestContext(this.server, HttpMethod.GET)
    try {
      await this.#config.applySecurityAuthentication(context)
    } catch (error) {
      const fileOrCommand = error instanceof Error && 'syscall' in error ? `: ${error.message}` : ''
      throw new Error(`cannot get the credentials of the kubeconfig or pod${fileOrCommand}`)
    }
    const headers = Object.entries(context.getHeaders()).map(([name, value]) => [
      name.toLowerCase(),
      value.trim(),
    ])
    return { headers: Object.fromEntries(headers), connection: this.#config.connection }
  }
}

class PoollessConfig extends KubeConfig {
  connection: DispatcherOptions = { type: 'none' }

  override createDispatcherOptions(
    cluster: Cluster | null,
    options: HttpsAgent['options'],
  ): DispatcherOptions {
    this.connection = super.createDispatcherOptions(cluster, options)
    return { type: 'none' }
  }
}
