/** The ServiceAccount tokens of one pod: bound to it, and replaced when most of their life is over. */
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { Api } from './api.ts'
import { NotYet } from './environment.ts'
import type { Pod, Projected } from './pod-spec.ts'

type Projection = NonNullable<Projected['serviceAccountToken']>

const RETRY_MS = 500
const answer = z.object({ status: z.object({ token: z.string(), expirationTimestamp: z.string() }) })

export class Tokens {
  readonly #api: Api
  readonly #pod: Pod
  readonly #lifeShare: number
  readonly #replaced: () => void
  readonly #signal: AbortSignal
  readonly #tokens = new Map<string, string>()

  /** `lifeShare` of a token's life passes before it is replaced, then `replaced` is called. */
  constructor(api: Api, pod: Pod, lifeShare: number, replaced: () => void, signal: AbortSignal) {
    this.#api = api
    this.#pod = pod
    this.#lifeShare = lifeShare
    this.#replaced = replaced
    this.#signal = signal
    const wanted = pod.spec.volumes
      .flatMap(({ projected }) => projected?.sources ?? [])
      .flatMap(({ serviceAccountToken }) => serviceAccountToken ?? [])
    for (const projection of wanted) void this.#keep(projection)
  }

  /** Throws NotYet while there is none. */
  get(projection: Projection): string {
    const token = this.#tokens.get(keyOf(projection))
    if (token === undefined) throw new NotYet('no token yet')
    return token
  }

  async #keep(projection: Projection): Promise<void> {
    const { name, namespace, uid } = this.#pod.metadata
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${this.#pod.spec.serviceAccountName}/token`
    const spec = {
      expirationSeconds: projection.expirationSeconds,
      ...(projection.audience !== undefined && { audiences: [projection.audience] }),
      boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, uid },
    }
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec }
    while (!this.#signal.aborted) {
      const found = await this.#api.call('POST', path, body).then(
        (made) => answer.parse(made).status,
        () => undefined,
      )
      if (found !== undefined) {
        this.#tokens.set(keyOf(projection), found.token)
        this.#replaced()
      }
      const lifeMs = found === undefined ? 0 : Date.parse(found.expirationTimestamp) - Date.now()
      const waitMs = Math.max(RETRY_MS, lifeMs * this.#lifeShare)
      await pause(waitMs, undefined, { signal: this.#signal }).catch(() => undefined)
    }
  }
}

const keyOf = ({ path, audience = '' }: Projection) => `${audience} ${path}`
