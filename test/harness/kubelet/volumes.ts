/**
 * The volumes of a pod as folders. Files of a ConfigMap, a Secret, a projection or the downward API lie behind a link
 * `..data` that is replaced as a whole, like those of a node, so a reader sees either the old files or the new ones.
 */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { downward, type Entries, NotYet, type Place } from './environment.ts'
import type { Pod, Projected, Volume } from './pod-spec.ts'

export interface VolumeSources extends Entries {
  /** Folder of a claim, which outlives the pod. */
  claim(namespace: string, name: string): string
  /** The current token of a projection. */
  token(projection: NonNullable<Projected['serviceAccountToken']>): string
}

interface File {
  content: Buffer
  mode: number
}

/**
 * Creates or updates the volume in `folder`, and returns the folder to mount. Throws NotYet if an object that is not
 * optional is missing; what was written before stays.
 */
export function writeVolume(
  folder: string,
  volume: Volume,
  pod: Pod,
  place: Place,
  sources: VolumeSources,
): string {
  const group = pod.spec.securityContext.fsGroup
  if (volume.persistentVolumeClaim !== undefined) {
    const claim = sources.claim(pod.metadata.namespace, volume.persistentVolumeClaim.claimName)
    return writable(claim, group)
  }
  if (volume.emptyDir !== undefined) return writable(folder, group)
  const files = filesOf(volume, pod, place, sources)
  mkdirSync(folder, { recursive: true })
  replaceFiles(folder, files, group)
  return folder
}

function writable(folder: string, group: number | undefined): string {
  if (existsSync(folder)) return folder
  mkdirSync(folder, { recursive: true })
  own(folder, group)
  chmodSync(folder, 0o2777)
  return folder
}

function filesOf(volume: Volume, pod: Pod, place: Place, sources: VolumeSources): Map<string, File> {
  const { configMap, secret, projected, downwardAPI } = volume
  const only: Projected[] = [
    ...(projected?.sources ?? []),
    ...(configMap === undefined ? [] : [{ configMap }]),
    ...(secret === undefined ? [] : [{ secret: { ...secret, name: secret.secretName } }]),
    ...(downwardAPI === undefined ? [] : [{ downwardAPI }]),
  ]
  if (only.length === 0) throw new Error(`the stand-in has no volume of the kind of ${volume.name}`)
  const { defaultMode } = configMap ?? secret ?? projected ?? downwardAPI ?? { defaultMode: 0o644 }
  const files = new Map<string, File>()
  for (const source of only) {
    for (const kind of ['configMap', 'secret'] as const) {
      const reference = source[kind]
      if (reference === undefined) continue
      const entries = sources[kind](pod.metadata.namespace, reference.name)
      if (entries === undefined && !reference.optional)
        throw new NotYet(`${kind} "${reference.name}" not found`)
      const chosen =
        reference.items ?? [...(entries ?? [])].map(([key]) => ({ key, path: key, mode: undefined }))
      for (const { key, path, mode = defaultMode } of chosen) {
        const content = entries?.get(key)
        if (content !== undefined) files.set(path, { content, mode })
        else if (!reference.optional) throw new NotYet(`${kind} ${reference.name} has no entry ${key}`)
      }
    }
    for (const { path, fieldRef } of source.downwardAPI?.items ?? [])
      if (fieldRef !== undefined)
        files.set(path, {
          content: Buffer.from(downward(fieldRef.fieldPath, pod, place)),
          mode: defaultMode,
        })
    if (source.serviceAccountToken !== undefined)
      files.set(source.serviceAccountToken.path, {
        content: Buffer.from(sources.token(source.serviceAccountToken)),
        // A node gives the token to the group of the pod, or else to its user.
        mode: pod.spec.securityContext.fsGroup === undefined ? 0o644 : 0o640,
      })
  }
  return files
}

function replaceFiles(folder: string, files: Map<string, File>, group: number | undefined): void {
  const data = join(folder, '..data')
  const name = `..${digest(files)}`
  if (existsSync(data) && readlinkSync(data).startsWith(name)) return
  const next = mkdtempSync(join(folder, `${name}.`))
  own(next, group)
  chmodSync(next, 0o755)
  for (const [path, { content, mode }] of files) {
    const file = join(next, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
    own(file, group)
    // With a group a node adds the right to read for it.
    chmodSync(file, group === undefined ? mode : mode | 0o040)
  }
  const link = `${data}.new`
  rmSync(link, { force: true })
  symlinkSync(next.slice(folder.length + 1), link)
  renameSync(link, data)
  const visible = new Set([...files.keys()].map((path) => path.split('/')[0] ?? ''))
  for (const each of visible) {
    const path = join(folder, each)
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) symlinkSync(join('..data', each), path)
  }
  for (const each of readdirSync(folder))
    if (each.startsWith('..') ? each !== '..data' && !next.endsWith(each) : !visible.has(each))
      rmSync(join(folder, each), { recursive: true })
}

function digest(files: Map<string, File>): string {
  const hash = createHash('sha256')
  for (const [path, { content, mode }] of [...files].sort(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`${path}\0${mode}\0${content.length}\0`).update(content)
  return hash.digest('hex').slice(0, 16)
}

/** An ordinary user cannot give files away; the sandbox then runs as that user. */
function own(path: string, group: number | undefined): void {
  if (group !== undefined && process.getuid?.() === 0) chownSync(path, 0, group)
}
