/**
 * How the controller talks to a Kubernetes API server. The client library answers for credentials and TLS alone; lists,
 * watches and retries are made here, because a controller must know which of them it can rely on.
 */

/** An object as the server sends it. */
export interface KubeObject {
  apiVersion?: string | undefined
  kind?: string | undefined
  metadata: {
    name: string
    namespace?: string | undefined
    uid: string
    resourceVersion: string
    generation?: number | undefined
    /** RFC 3339. */
    creationTimestamp: string
    [field: string]: unknown
  }
  [field: string]: unknown
}

export interface KubeClient {
  /**
   * The parsed body of the answer. Waits and asks again where the server says when (429, 503 with Retry-After), within
   * the time-out. Rejects with KubeError.
   */
  request(call: KubeCall): Promise<unknown>
  /** Objects of a streamed answer, one for each line, until it ends. Rejects with KubeError. */
  stream(call: KubeCall): AsyncIterable<unknown>
  close(): Promise<void>
}

export interface KubeCall {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** "/apis/sluice.dev/v1alpha1/apikeys" */
  path: string
  query?: Readonly<Record<string, string>>
  body?: unknown
  /** More request headers, for what stands behind the server's proxy. */
  headers?: Readonly<Record<string, string>>
  /** Default application/json; a patch names its kind. */
  contentType?: string
  /** For a stream: until the answer begins. Default 10 s. */
  timeoutMs?: number
  signal?: AbortSignal
}

/** The server refused, or could not be reached. The message names neither a token nor the content of a resource. */
export class KubeError extends Error {
  override name = 'KubeError'
  /** HTTP status; 0 when there was no answer. */
  readonly status: number
  /** The server's word, such as Conflict, AlreadyExists, Expired. */
  readonly reason: string | undefined
  readonly retryAfterMs: number | undefined

  constructor(
    message: string,
    status: number,
    more: { reason?: string | undefined; retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause })
    this.status = status
    this.reason = more.reason
    this.retryAfterMs = more.retryAfterMs
  }
}

/** "namespace/name", or the name alone of an object without namespace. */
export function keyOf({ metadata }: KubeObject): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`
}
