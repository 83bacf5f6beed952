/** The life of one pod: volumes and tokens, init containers, containers, status, and its end. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Api, ApiError, MERGE_PATCH } from './api.ts'
import { ContainerRun } from './container-run.ts'
import { type Entries, environmentOf, expand, NotYet, type Place } from './environment.ts'
import type { Images } from './images.ts'
import type { Container, Pod } from './pod-spec.ts'
import type { SandboxSpec } from './sandbox.ts'
import { type Condition, statusOf } from './status.ts'
import { Tokens } from './tokens.ts'
import { writeVolume } from './volumes.ts'

const RETRY_MS = 250

export interface Node {
  api: Api
  images: Images
  entries: Entries
  /** Folder of all pods. */
  dir: string
  hostsFile(namespace: string): string
  claim(namespace: string, name: string): string
  /** Where containers reach the API server. */
  apiServer(): { host: string; port: number }
  tokenLifeShare: number
  output(pod: string, chunk: Buffer): void
  /** The readiness of a pod may have changed. */
  changed(): void
}

export class PodWorker {
  pod: Pod
  readonly place: Place
  /** Resolves when the pod is no longer on the API server, or was stopped. */
  readonly over: Promise<void>
  readonly #node: Node
  readonly #dir: string
  readonly #startTime = new Date().toISOString()
  readonly #tokens: Tokens
  readonly #ended = new AbortController()
  readonly #ending = new AbortController()
  readonly #inits: ContainerRun[] = []
  readonly #containers: ContainerRun[] = []
  #initialised = false
  #conditions: Condition[] = []
  #dirty = true
  #writing: Promise<void> | undefined
  #graceMs = 0

  constructor(pod: Pod, place: Place, node: Node) {
    this.pod = pod
    this.place = place
    this.#node = node
    this.#dir = join(node.dir, pod.metadata.uid)
    mkdirSync(this.#dir, { recursive: true })
    const refresh = () => this.refreshVolumes()
    this.#tokens = new Tokens(node.api, pod, node.tokenLifeShare, refresh, this.#ended.signal)
    this.over = this.#run()
  }

  get ready(): boolean {
    const { containers } = this.pod.spec
    return this.#containers.length === containers.length && this.#containers.every(({ ready }) => ready)
  }

  get ending(): boolean {
    return this.#ending.signal.aborted
  }

  /** The containers that were started. */
  get containers(): readonly ContainerRun[] {
    return this.#containers
  }

  /** The pod has other labels, or is to be deleted. */
  update(pod: Pod): void {
    this.pod = pod
    const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata
    if (deletionTimestamp === undefined) return
    this.#graceMs = deletionGracePeriodSeconds * 1_000
    this.#ending.abort()
  }

  /** The pod is gone from the API server: nothing is left to report. */
  forget(): void {
    this.#graceMs = this.pod.spec.terminationGracePeriodSeconds * 1_000
    this.#ending.abort()
  }

  /** Objects that volumes show may have changed. */
  refreshVolumes(): void {
    if (this.#initialised || this.#inits.length > 0) this.#volumes(true)
  }

  /** Ends the processes at once, without telling the API server. */
  async kill(): Promise<void> {
    this.#ended.abort()
    this.#ending.abort()
    await this.over
  }

  async #run(): Promise<void> {
    const ending = new Promise<void>((resolve) =>
      this.#ending.signal.addEventListener('abort', () => resolve(), { once: true }),
    )
    const finished = this.#work()
    await Promise.race([finished, ending])
    if (!this.ending) {
      await this.#flush()
      await ending
    }
    const all = [...this.#inits, ...this.#containers]
    await Promise.all(all.map((run) => run.stop(this.#ended.signal.aborted ? 0 : this.#graceMs)))
    await finished
    if (!this.#ended.signal.aborted) await this.#finalise()
    this.#ended.abort()
    rmSync(this.#dir, { recursive: true, force: true })
  }

  /** Starts the containers, and waits until none will run again. */
  async #work(): Promise<void> {
    this.#touch()
    for (const container of this.pod.spec.initContainers) {
      if (this.ending) return
      const run = this.#start(container, this.#inits)
      const sidecar = container.restartPolicy === 'Always'
      while (sidecar && !run.started && !this.ending) await pause(RETRY_MS)
      if (sidecar) continue
      await run.done
      if (run.exitCode !== 0) return
    }
    if (this.ending) return
    this.#initialised = true
    for (const container of this.pod.spec.containers) this.#start(container, this.#containers)
    await Promise.all(this.#containers.map(({ done }) => done))
  }

  #start(container: Container, runs: ContainerRun[]): ContainerRun {
    const { name, namespace } = this.pod.metadata
    const { restartPolicy } = this.pod.spec
    const isInit = runs === this.#inits
    const run = new ContainerRun({
      container,
      podIP: this.place.podIP,
      // An init container runs until it ends well.
      restartPolicy:
        container.restartPolicy ?? (isInit && restartPolicy === 'Always' ? 'OnFailure' : restartPolicy),
      graceMs: this.pod.spec.terminationGracePeriodSeconds * 1_000,
      sandbox: () => this.#sandbox(container),
      output: (chunk) => this.#node.output(`${namespace}/${name}`, chunk),
      changed: () => this.#touch(),
    })
    runs.push(run)
    return run
  }

  #sandbox(container: Container): SandboxSpec {
    const { podIP } = this.place
    const image = this.#node.images(container.image, podIP)
    if (image === undefined) throw new NotYet(`the stand-in has no image ${container.image}`)
    const { securityContext: podContext } = this.pod.spec
    const { securityContext } = container
    const user = securityContext.runAsUser ?? podContext.runAsUser ?? image.user
    if ((user ?? 0) === 0 && securityContext.runAsNonRoot) throw new NotYet('the image would run as root')
    const group = securityContext.runAsGroup ?? podContext.runAsGroup
    const { host, port } = this.#node.apiServer()
    const own = environmentOf(container, this.pod, this.place, this.#node.entries)
    const env = {
      ...image.env,
      HOSTNAME: this.pod.metadata.name,
      KUBERNETES_SERVICE_HOST: host,
      KUBERNETES_SERVICE_PORT: `${port}`,
      ...own,
    }
    const words = [
      ...(container.command.length > 0 ? container.command : image.entrypoint),
      ...(container.args ?? (container.command.length > 0 ? [] : image.command)),
    ]
    const folders = this.#volumes(false)
    return {
      dir: join(this.#dir, 'containers', container.name),
      image,
      command: words.map((word) => expand(word, env)),
      workingDir: container.workingDir ?? image.workingDir,
      env,
      mounts: container.volumeMounts.map(({ name, mountPath, subPath, readOnly }) => {
        const folder = folders.get(name)
        if (folder === undefined) throw new NotYet(`no volume ${name}`)
        return { from: join(folder, subPath ?? ''), to: mountPath, readOnly }
      }),
      hostsFile: this.#node.hostsFile(this.pod.metadata.namespace),
      user,
      groups: [...new Set([group ?? user ?? 0, ...(podContext.fsGroup ? [podContext.fsGroup] : [])])],
      readOnlyRoot: securityContext.readOnlyRootFilesystem,
    }
  }

  /** Writes all volumes and returns their folders. With `lenient`, one that cannot be written stays as it is. */
  #volumes(lenient: boolean): Map<string, string> {
    const sources = {
      ...this.#node.entries,
      claim: this.#node.claim,
      token: (projection: Parameters<Tokens['get']>[0]) => this.#tokens.get(projection),
    }
    const folders = new Map<string, string>()
    for (const volume of this.pod.spec.volumes) {
      const folder = join(this.#dir, 'volumes', volume.name)
      try {
        folders.set(volume.name, writeVolume(folder, volume, this.pod, this.place, sources))
      } catch (error) {
        if (!lenient || !(error instanceof NotYet)) throw error
      }
    }
    return folders
  }

  /** Writes the status soon; changes that come together are one write. */
  #touch(): void {
    this.#dirty = true
    this.#node.changed()
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
      if (this.#dirty && !this.#ended.signal.aborted) this.#touch()
    })
  }

  /** Writes the status of now. Never beside another write: an older one that arrives later would be refused. */
  async #flush(): Promise<void> {
    this.#touch()
    while (this.#writing !== undefined) await this.#writing
  }

  async #write(): Promise<void> {
    await pause(10)
    this.#dirty = false
    const status = statusOf(
      this.pod,
      {
        podIP: this.place.podIP,
        startTime: this.#startTime,
        initialised: this.#initialised,
        inits: this.#inits,
        containers: this.#containers,
      },
      this.#conditions,
    )
    this.#conditions = status.conditions
    await this.#insist('PATCH', `${this.#path()}/status`, { status })
  }

  /** The last status, then the deletion that a grace period of 0 makes final. */
  async #finalise(): Promise<void> {
    await this.#flush()
    const preconditions = { uid: this.pod.metadata.uid }
    await this.#insist('DELETE', this.#path(), { gracePeriodSeconds: 0, preconditions })
  }

  /** Repeats a call until the API server answers; a pod that is gone, or another one, ends it. */
  async #insist(method: 'PATCH' | 'DELETE', path: string, body: object): Promise<void> {
    while (!this.#ended.signal.aborted) {
      const type = method === 'PATCH' ? MERGE_PATCH : undefined
      const error = await this.#node.api.call(method, path, body, type).then(
        () => undefined,
        (cause: unknown) => cause,
      )
      if (error === undefined) return
      if (error instanceof ApiError && [404, 409].includes(error.status)) return
      if (error instanceof ApiError && error.status === 422) throw error
      await pause(RETRY_MS)
    }
  }

  #path(): string {
    return `/api/v1/namespaces/${this.pod.metadata.namespace}/pods/${this.pod.metadata.name}`
  }
}
