/** Helm on the charts of the checkout. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { binary, KUBERNETES_VERSION } from '../assets/binaries.ts'
import { helm4 } from '../assets/helm4.ts'
import { ROOT } from '../harness/program.ts'

export const CHART = join(ROOT, 'helm', 'sluice')
export const CRDS_CHART = join(ROOT, 'helm', 'sluice-crds')

const execute = promisify(execFile)

/** Helm 3, or Helm 4 with HELM_MAJOR=4, which is built when it is missing. */
export const helmProgram = (): string => (process.env.HELM_MAJOR === '4' ? helm4() : binary('helm'))

/** Runs Helm; `values` become a values file. Returns standard output, and rejects with Helm's message. */
export async function helm(args: string[], values: object = {}): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-helm-'))
  try {
    const file = join(dir, 'values.json')
    writeFileSync(file, JSON.stringify(values))
    const takesValues = ['template', 'install', 'upgrade', 'lint'].includes(args[0] ?? '')
    const { stdout } = await execute(helmProgram(), takesValues ? [...args, '--values', file] : args, {
      env: { PATH: process.env.PATH, HOME: dir },
      maxBuffer: 64 * 1024 * 1024,
    })
    return stdout
  } catch (error) {
    throw new Error(z.object({ stderr: z.string() }).parse(error).stderr)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
})
export type Manifest = z.output<typeof manifest>

/** The chart as release `sluice` in a namespace, without a cluster. */
export const render = async (values: object = {}, namespace = 'gateway'): Promise<Manifest[]> =>
  manifests(
    await helm(
      ['template', 'sluice', CHART, '--namespace', namespace, '--kube-version', KUBERNETES_VERSION],
      values,
    ),
  )

/** The output of `helm template` or `helm get manifest`. */
export function manifests(yaml: string): Manifest[] {
  return parseAllDocuments(yaml).flatMap((document) => {
    if (document.errors.length > 0) throw new Error(document.errors.join('\n'))
    return document.contents === null ? [] : [manifest.parse(document.toJS())]
  })
}

/** The only object of a kind with a name. Throws if it does not exist. */
export function find(objects: Manifest[], kind: string, name: string): Manifest {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name)
  if (found === undefined)
    throw new Error(
      `no ${kind} ${name} among ${objects.map((o) => `${o.kind} ${o.metadata.name}`).join(', ')}`,
    )
  return found
}

const podSpec = z.looseObject({
  serviceAccountName: z.string().optional(),
  automountServiceAccountToken: z.boolean().optional(),
  enableServiceLinks: z.boolean(),
  terminationGracePeriodSeconds: z.number().optional(),
  securityContext: z.unknown().optional(),
  containers: z.tuple([
    z.looseObject({
      image: z.string(),
      args: z.array(z.string()),
      env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })),
      securityContext: z.unknown().optional(),
      lifecycle: z.unknown().optional(),
    }),
  ]),
})

/** The pods of a Deployment or StatefulSet. */
export const podSpecOf = (workload: Manifest): z.output<typeof podSpec> =>
  z.object({ spec: z.object({ template: z.object({ spec: podSpec }) }) }).parse(workload).spec.template.spec

/** Environment of a workload's container: plain values, and the sources of the others. */
export const envOf = (workload: Manifest): Record<string, unknown> =>
  Object.fromEntries(podSpecOf(workload).containers[0].env.map((e) => [e.name, e.value ?? e.valueFrom]))

export const specOf = (object: Manifest) => z.object({ spec: z.looseObject({}) }).parse(object).spec

/** The kinds of these objects, each once. */
export const kindsOf = (objects: Manifest[]) => [...new Set(objects.map(({ kind }) => kind))].sort()
