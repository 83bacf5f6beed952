/** `sluice validate`: checks resource files without a server. */
import { readFile, stat } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import { ENDPOINTS } from '../contract/endpoints.ts'
import { withoutEnd } from '../contract/text.ts'
import { compile } from '../controller/compile/index.ts'
import type { ObjectStatus, Snapshot } from '../controller/snapshot.ts'
import { Catalogue, type Reading } from '../controller/source/folder/catalogue.ts'
import { errorCode, listFolder } from '../controller/source/folder/files.ts'
import { problemText } from '../controller/source/folder/problem.ts'
import type { SourceFile } from '../controller/source/folder/source-file.ts'
import { CommandFailure, json, type OutputOptions, type Terminal, type Tool } from './command.ts'
import { plain } from './table.ts'

/** Name of standard input in messages. */
const STDIN = 'stdin'

/** A resource that is valid but would not be in force, or a likely mistake. */
interface Warning {
  kind: string
  namespace: string
  name: string
  condition: string
  /** Of the condition. */
  status: string
  reason: string
  message: string
}

export interface ValidateOptions extends OutputOptions {
  file: string[]
  namespace: string
  strict?: true
}

export const validate: Tool<ValidateOptions> = async ({ file, namespace, output, strict }, terminal) => {
  const files = (await Promise.all(file.map(readPath))).flat()
  const unique = [...new Map(files.map((file) => [file.path, file])).values()]
  const { problems, doubts, snapshot } = check(unique, namespace, terminal.env)
  const warnings = [...warningsOf(snapshot), ...endpointWarnings(snapshot)]
  const notes = [...mintedKeys(snapshot)].map(noteOfMinted)
  if (output === 'json') terminal.print(json({ files: unique.length, problems, warnings, doubts, notes }))
  else show(unique.length, { problems, doubts, warnings, notes }, terminal)
  return problems.length > 0 || (strict === true && warnings.length + doubts.length > 0) ? 1 : 0
}

/** Checks documents of any namespace, each in its own. */
export function check(files: readonly SourceFile[], namespace: string, env: Terminal['env']): Reading {
  return new Catalogue({ namespace, anyNamespace: true, env }).update(files, Date.now())
}

/** Throws CommandFailure for a path that does not exist or cannot be read. */
export async function readPath(path: string): Promise<SourceFile[]> {
  if (path === '-') return [{ path: STDIN, text: await readAll(process.stdin) }]
  try {
    if (!(await stat(path)).isDirectory()) return [await sourceOf(path)]
    const { files } = await listFolder(path)
    if (files.length === 0) throw new CommandFailure(`${path} has no .yaml, .yml or .json file`)
    return Promise.all(files.map(sourceOf))
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    throw new CommandFailure(`${path} cannot be read (${errorCode(error)})`)
  }
}

async function sourceOf(path: string): Promise<SourceFile> {
  return { path, text: await readFile(path, 'utf8') }
}

/** Conditions that would be False, and short keys. Invalid documents are left out: they are problems already. */
function warningsOf(snapshot: Snapshot): Warning[] {
  const reported = new Set(snapshot.invalid.map(idOf))
  const minted = mintedKeys(snapshot)
  return compile(snapshot, Date.now())
    .statuses.filter((status) => !reported.has(idOf(status)))
    .flatMap(({ kind, metadata: { namespace, name }, conditions }) =>
      conditions
        .filter(({ status, reason }) => status === 'False' || reason === 'ShortKey')
        .map(({ type, status, reason, message }) => ({
          ...{ kind, namespace, name, condition: type, status, reason, message },
        })),
    )
    .filter(({ kind, namespace, name }) => !(kind === 'ApiKey' && minted.has(`${namespace}/${name}`)))
}

/** Fields that give a key its value. */
const KEY_SOURCES = ['secretRef', 'secretRefs', 'hashes']

/** ApiKeys without a value. In a cluster the controller generates one, so the file is correct. */
function mintedKeys({ apiKeys }: Snapshot): Set<string> {
  const minted = apiKeys.filter(({ spec }) => !KEY_SOURCES.some((field) => Object.hasOwn(spec, field)))
  return new Set(minted.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`))
}

const ENDPOINT_PATHS = Object.values(ENDPOINTS)
  .map(({ path }) => path.replace(/^\/v[^/]*/, ''))
  .toSorted((a, b) => b.length - a.length)

/** Base URLs that already end in the path that the gateway adds. Without this, every request would be answered 404. */
function endpointWarnings({ channels }: Snapshot): Warning[] {
  return channels.flatMap(({ metadata: { namespace, name }, spec }) => {
    const path = withoutEnd(URL.parse(spec.baseURL)?.pathname ?? '', '/')
    const end = ENDPOINT_PATHS.find((known) => path.endsWith(known))
    if (end === undefined) return []
    const message = `spec.baseURL ends in ${end}, which the gateway adds itself; remove it, as in the base URL of an SDK`
    const about = { condition: 'Accepted', status: 'True', reason: 'EndpointInBaseURL', message } as const
    return [{ kind: 'Channel', namespace, name, ...about }]
  })
}

const idOf = ({ kind, metadata }: Pick<ObjectStatus, 'kind' | 'metadata'>) =>
  `${kind}/${metadata.namespace}/${metadata.name}`

interface Findings extends Pick<Reading, 'problems' | 'doubts'> {
  warnings: readonly Warning[]
  notes: readonly string[]
}

function show(files: number, { problems, doubts, warnings, notes }: Findings, terminal: Terminal): void {
  for (const problem of problems) terminal.print(plain(problemText(problem)))
  for (const doubt of doubts) terminal.print(plain(`warning: ${problemText(doubt)}`))
  for (const { kind, namespace, name, condition, status, message } of warnings) {
    const would = status === 'False' ? `${condition} would be False: ` : ''
    terminal.print(plain(`warning: ${kind}/${name} in ${namespace}: ${would}${message}`))
  }
  for (const note of notes) terminal.print(plain(`note: ${note}`))
  const counts = [
    number(files, 'file'),
    number(problems.length, 'problem'),
    number(doubts.length + warnings.length, 'warning'),
  ]
  terminal.warn(counts.join(', '))
}

const noteOfMinted = (id: string) =>
  `ApiKey ${id} names no key: in a cluster the controller generates one, in a folder it is not served`

const number = (count: number, thing: string) => `${count} ${thing}${count === 1 ? '' : 's'}`
