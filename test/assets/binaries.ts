/**
 * The real programs that the tests start: a Kubernetes control plane, kubectl and Helm. Each comes from the folder in
 * KUBEBUILDER_ASSETS if it is there, else from a cache folder, where `node test/assets/binaries.ts [name...]` builds
 * it with Go from the go.mod beside this file. The cache is keyed by that file, so another version is another
 * folder.
 */
import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { accessSync, constants, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { cacheRoot } from './go-program.ts'

const HERE = import.meta.dirname
const GO_MOD = readFileSync(join(HERE, 'go.mod'), 'utf8')

/** Without its version a control plane calls itself v0.0.0, and Helm assumes Kubernetes 1.20. */
const [, KUBERNETES = '', MINOR = ''] = /k8s\.io\/kubernetes (v1\.(\d+)\.\d+)/.exec(GO_MOD) ?? []
const [, HELM = ''] = /helm\.sh\/helm\/v3 (v[\d.]+)/.exec(GO_MOD) ?? []
const VERSION = 'k8s.io/component-base/version'
const KUBERNETES_FLAGS = `-X ${VERSION}.gitVersion=${KUBERNETES} -X ${VERSION}.gitMajor=1 -X ${VERSION}.gitMinor=${MINOR}`
const HELM_FLAGS = ['pkg/chartutil', 'pkg/lint/rules']
  .map(
    (where) =>
      `-X helm.sh/helm/v3/${where}.k8sVersionMajor=1 -X helm.sh/helm/v3/${where}.k8sVersionMinor=${MINOR}`,
  )
  .concat(`-X helm.sh/helm/v3/internal/version.version=${HELM}`)
  .join(' ')
/** A flag for a package that a program lacks has no effect. */
const FLAGS = `${KUBERNETES_FLAGS} ${HELM_FLAGS}`

/** CPU seconds of a build with an empty cache, in this order: later ones share much with earlier ones. */
const SOURCES = {
  etcd: { from: 'go.etcd.io/etcd/server/v3', cpuSeconds: 110 },
  'kube-apiserver': { from: 'k8s.io/kubernetes/cmd/kube-apiserver', cpuSeconds: 360 },
  'kube-controller-manager': { from: 'k8s.io/kubernetes/cmd/kube-controller-manager', cpuSeconds: 70 },
  kubectl: { from: 'k8s.io/kubernetes/cmd/kubectl', cpuSeconds: 50 },
  helm: { from: 'helm.sh/helm/v3/cmd/helm', cpuSeconds: 160 },
} as const

export type BinaryName = keyof typeof SOURCES

/** The version of Kubernetes that is built, such as "1.36.3". */
export const KUBERNETES_VERSION = KUBERNETES.slice(1)

/** Path of a binary. Throws with the name of a missing one and the remedy. */
export function binary(name: BinaryName): string {
  const found = find(name)
  if (found === undefined) {
    throw new Error(
      `${name} is missing: run "make test-binaries", or name a folder that has it in KUBEBUILDER_ASSETS`,
    )
  }
  return found
}

function find(name: BinaryName): string | undefined {
  const folders = [process.env.KUBEBUILDER_ASSETS, cacheFolder()]
  return folders
    .filter((folder) => folder !== undefined && folder !== '')
    .map((folder) => join(folder ?? '', name))
    .find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function cacheFolder(): string {
  return join(cacheRoot(), `kubernetes-${KUBERNETES_VERSION}-${hash('sha256', GO_MOD).slice(0, 12)}`)
}

function buildMissing(names: readonly BinaryName[]): void {
  const missing = names.filter((name) => find(name) === undefined)
  if (missing.length === 0) return
  if (spawnSync('go', ['version']).status !== 0) {
    console.error(
      `${missing.join(', ')}: missing, and Go, which builds them, is missing too (https://go.dev/doc/install)`,
    )
    process.exit(1)
  }
  const folder = cacheFolder()
  mkdirSync(folder, { recursive: true })
  const minutes =
    missing.reduce((sum, name) => sum + SOURCES[name].cpuSeconds, 0) / 60 / availableParallelism()
  console.error(
    `Building ${missing.join(', ')} into ${folder}, once: ${Math.ceil(minutes)} to ${Math.ceil(2 * minutes)} minutes, ` +
      'longer on a machine that does other work',
  )
  const began = performance.now()
  build(missing, folder)
  console.error(`built in ${((performance.now() - began) / 60_000).toFixed(1)} minutes`)
}

/** All in one command: Go compiles shared packages once, and links one program while it compiles another. */
function build(names: readonly BinaryName[], folder: string): void {
  const unfinished = join(folder, `.${process.pid}`)
  mkdirSync(unfinished)
  try {
    const { status } = spawnSync(
      'go',
      // No one debugs them: without symbols and DWARF they compile and link faster.
      [
        ...['build', '-trimpath', '-tags=tools', '-gcflags=all=-dwarf=false', '-ldflags', `-s -w ${FLAGS}`],
        ...['-o', `${unfinished}/`, ...names.map((name) => SOURCES[name].from)],
      ],
      {
        cwd: HERE,
        stdio: 'inherit',
        env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -buildvcs=false' },
      },
    )
    if (status !== 0) {
      console.error(`${names.join(', ')}: the build failed`)
      process.exit(1)
    }
    for (const name of names) renameSync(join(unfinished, builtName(name)), join(folder, name))
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}

/** Go names a program by the last part of its path that is not a version. */
function builtName(name: BinaryName): string {
  return name === 'etcd' ? 'server' : name
}

if (import.meta.main) {
  const known = Object.keys(SOURCES) as BinaryName[]
  const requested = process.argv.slice(2)
  const unknown = requested.find((name) => !known.some((each) => each === name))
  if (unknown !== undefined) throw new Error(`there is no ${unknown}; there are ${known.join(', ')}`)
  buildMissing(requested.length === 0 ? known : known.filter((name) => requested.includes(name)))
}
