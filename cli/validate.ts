/** `sluice validate`: what is wrong with resource files, without a server. */
import { readFile, stat } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import { compile } from '../controller/compile/index.ts'
import type { ObjectStatus, Snapshot } from '../controller/snapshot.ts'
import { Catalogue, type Reading } from '../controller/source/folder/catalogue.ts'
import { errorCode, listFolder } from '../controller/source/folder/files.ts'
import { type Problem, problemText } from '../controller/source/folder/problem.ts'
import type { SourceFile } from '../controller/source/folder/source-file.ts'
import { CommandFailure, json, type OutputOptions, type Terminal, type Tool } from './command.ts'
import { plain } from './table.ts'

/** How standard input is called in messages. */
const STDIN = 'stdin'

/** A condition that would be false, with everything else in force. */
interface Warning {
  kind: string
  namespace: string
  name: string
  condition: string
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
  const warnings = warningsOf(snapshot)
  if (output === 'json') terminal.print(json({ files: unique.length, problems, warnings, doubts }))
  else show(unique.length, { problems, doubts, warnings }, terminal)
  return problems.length > 0 || (strict === true && warnings.length + doubts.length > 0) ? 1 : 0
}

/** Documents of any namespace, each judged in its own. */
export function check(files: readonly SourceFile[], namespace: string, env: Terminal['env']): Reading {
  return new Catalogue({ namespace, anyNamespace: true, env }).update(files, Date.now())
}

/** Throws CommandFailure for what is not there or cannot be read. */
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

/** What would not be in force. What is no valid document has been told as a problem. */
function warningsOf(snapshot: Snapshot): Warning[] {
  const told = new Set(snapshot.invalid.map(idOf))
  return compile(snapshot)
    .statuses.filter((status) => !told.has(idOf(status)))
    .flatMap(({ kind, metadata: { namespace, name }, conditions }) =>
      conditions
        .filter(({ status }) => status === 'False')
        .map(({ type, reason, message }) => ({ kind, namespace, name, condition: type, reason, message })),
    )
}

const idOf = ({ kind, metadata }: Pick<ObjectStatus, 'kind' | 'metadata'>) =>
  `${kind}/${metadata.namespace}/${metadata.name}`

function show(
  files: number,
  {
    problems,
    doubts,
    warnings,
  }: { problems: readonly Problem[]; doubts: readonly Problem[]; warnings: readonly Warning[] },
  terminal: Terminal,
): void {
  for (const problem of problems) terminal.print(plain(problemText(problem)))
  for (const doubt of doubts) terminal.print(plain(`warning: ${problemText(doubt)}`))
  for (const { kind, namespace, name, condition, message } of warnings)
    terminal.print(plain(`warning: ${kind}/${name} in ${namespace}: ${condition} would be False: ${message}`))
  const counts = [
    number(files, 'file'),
    number(problems.length, 'problem'),
    number(doubts.length + warnings.length, 'warning'),
  ]
  terminal.tell(counts.join(', '))
}

const number = (count: number, thing: string) => `${count} ${thing}${count === 1 ? '' : 's'}`
