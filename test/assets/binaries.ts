/**
 * The real parts that the tests start: a Kubernetes control plane, kubectl and Helm. Each comes from the folder named
 * by KUBEBUILDER_ASSETS where it is there, else from a cache folder, where `node test/assets/binaries.ts` builds it
 * with Go from the go.mod beside this file. The cache is keyed by that file, so another version is another folder.
 */
import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { accessSync, constants, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const HERE = import.meta.dirname
const GO_MOD = readFileSync(join(HERE, 'go.mod'), 'utf8')

/** Without its version a control plane calls itself v0.0.0, and Helm believes in Kubernetes 1.20. */
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

const SOURCES = {
  etcd: { from: 'go.etcd.io/etcd/server/v3', flags: '' },
  helm: { from: 'helm.sh/helm/v3/cmd/helm', flags: HELM_FLAGS },
  kubectl: { from: 'k8s.io/kubernetes/cmd/kubectl', flags: KUBERNETES_FLAGS },
  'kube-controller-manager': {
    from: 'k8s.io/kubernetes/cmd/kube-controller-manager',
    flags: KUBERNETES_FLAGS,
  },
  'kube-apiserver': { from: 'k8s.io/kubernetes/cmd/kube-apiserver', flags: KUBERNETES_FLAGS },
} as const

export type BinaryName = keyof typeof SOURCES

/** The version of Kubernetes that is built, as "1.36.3". */
export const KUBERNETES_VERSION = KUBERNETES.slice(1)

/** Path of a binary. Throws with the name of what is missing, and what to do about it. */
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
  const root =
    process.env.SLUICE_TEST_BINARIES ??
    join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'sluice')
  return join(root, `kubernetes-${KUBERNETES_VERSION}-${hash('sha256', GO_MOD).slice(0, 12)}`)
}

function buildMissing(): void {
  const missing = (Object.keys(SOURCES) as BinaryName[]).filter((name) => find(name) === undefined)
  if (missing.length === 0) return
  if (spawnSync('go', ['version']).status !== 0) {
    console.error(
      `${missing.join(', ')}: missing, and Go, which builds them, is missing too (https://go.dev/doc/install)`,
    )
    process.exit(1)
  }
  const folder = cacheFolder()
  mkdirSync(folder, { recursive: true })
  console.error(`Building ${missing.join(', ')} into ${folder}: once, about ten minutes on two cores`)
  for (const name of missing) build(name, folder)
}

function build(name: BinaryName, folder: string): void {
  const { from, flags } = SOURCES[name]
  const began = performance.now()
  const unfinished = join(folder, `.${name}.${process.pid}`)
  const { status } = spawnSync(
    'go',
    ['build', '-trimpath', '-tags=tools', '-ldflags', `-s -w ${flags}`, '-o', unfinished, from],
    {
      cwd: HERE,
      stdio: 'inherit',
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -buildvcs=false' },
    },
  )
  if (status !== 0 || !existsSync(unfinished)) {
    console.error(`${name} could not be built`)
    process.exit(1)
  }
  renameSync(unfinished, join(folder, name))
  console.error(`  ${name}: ${((performance.now() - began) / 1000).toFixed(0)} s`)
}

if (import.meta.main) buildMissing()
