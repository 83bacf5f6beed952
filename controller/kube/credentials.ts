/** Where the API server is, and who we are there: a kubeconfig, or the files of a pod. */

import type { Agent as HttpsAgent } from 'node:https'
import {
  type Cluster,
  type DispatcherOptions,
  HttpMethod,
  KubeConfig,
  RequestContext,
} from '@kubernetes/client-node'
import { withoutEnd } from '../../contract/text.ts'

/** What one request needs. */
export interface Credentials {
  headers: Readonly<Record<string, string>>
  /** TLS and proxy; equal to the last answer's when nothing changed. */
  connection: DispatcherOptions
}

export interface CredentialsOptions {
  /** Path of a kubeconfig. Default: KUBECONFIG, then the one in the home folder, then the pod's own account. */
  kubeconfig?: string
  /** Default: the current one of the kubeconfig. */
  context?: string
  /** User to act as. */
  impersonate?: string
}

/**
 * The client library knows every way to log in (token files that are read again, exec plugins, client certificates).
 * It would build a new connection pool for each request: this keeps what such a pool would be made of, and no pool.
 */
export class CredentialSource {
  readonly server: string
  /** Of the pod, or of the kubeconfig's context. */
  readonly namespace: string | undefined
  readonly #config = new PoollessConfig()

  /** Throws when there is no configuration, or none of that name. */
  constructor({ kubeconfig, context, impersonate }: CredentialsOptions) {
    const config = this.#config
    if (kubeconfig === undefined) config.loadFromDefault()
    else config.loadFromFile(kubeconfig)
    if (context !== undefined) {
      if (config.getContextObject(context) === null)
        throw new Error(`the kubeconfig has no context ${context}`)
      config.setCurrentContext(context)
    }
    const cluster = config.getCurrentCluster()
    // The library's last resort is a server without TLS on port 8080, which no cluster has had for years.
    if (cluster === null || config.getCurrentContext() === 'loaded-context')
      throw new Error(
        'no Kubernetes configuration: set KUBECONFIG to a kubeconfig with a current context, or run in a pod with a ServiceAccount token',
      )
    this.server = withoutEnd(cluster.server, '/')
    this.namespace = config.getContextObject(config.getCurrentContext())?.namespace?.trim() || undefined
    if (impersonate !== undefined)
      config.users = config.users.map((user) => ({ ...user, impersonateUser: impersonate }))
  }

  /** Rejects when a file is missing or a plugin fails; what the plugin wrote is not repeated. */
  async current(): Promise<Credentials> {
    const context = new RequestContext(this.server, HttpMethod.GET)
    try {
      await this.#config.applySecurityAuthentication(context)
    } catch (error) {
      const fileOrCommand = error instanceof Error && 'syscall' in error ? `: ${error.message}` : ''
      throw new Error(`the credentials of the kubeconfig or pod cannot be had${fileOrCommand}`)
    }
    const headers = Object.entries(context.getHeaders()).map(([name, value]) => [name, value.trim()])
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
