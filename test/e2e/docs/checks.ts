/** Checks commands of the documentation against the definitions of commands, targets, charts and CRDs, without running them. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command as Definition } from 'commander'
import { parse } from 'yaml'
import { z } from 'zod'
import { commandLine } from '../../../cli/command-line.ts'
import { ENDPOINTS } from '../../../contract/endpoints.ts'
import { binary } from '../../assets/binaries.ts'
import { CHART, helm, type Manifest } from '../../chart/helm.ts'
import { ROOT } from '../../harness/program.ts'
import { type Command, commandsOf } from './shell.ts'

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** Words that stand for a value: NAME, <model>, … */
const isPlaceholder = (word: string) => /^[A-Z][A-Z_/]+$|[<…]|^substituted$|^\$/.test(word)

/** What is wrong with a command of a block; undefined if nothing is. */
export async function problemOf(
  { words }: Command,
  objects: readonly Manifest[],
): Promise<string | undefined> {
  const [program = '', ...args] = words
  if (program === 'sluice') return sluiceProblem(args)
  if (program === 'make') return makeProblem(args)
  if (program === 'kubectl' || program === '$KUBECTL') return kubectlProblem(args, objects)
  if (program === 'helm') return helmProblem(args)
  if (program === 'docker') return dockerProblem(args)
  if (program === 'curl') return curlProblem(args)
  if (program === 'node' || program === 'vitest') return fileProblem(args)
  return undefined
}

/** What is wrong with a command in backticks, where placeholders stand for values and may be missing. */
export async function inlineProblem(text: string, objects: readonly Manifest[]): Promise<string | undefined> {
  const plain = text.replace(/<[^>]*>/g, 'PLACEHOLDER').replace(/[[\]]|\.\.\.|(?<=\w),?…/g, '')
  for (const command of alternativesOf(plain).flatMap(commandsOf)) {
    const [program, ...args] = command.words
    const problem = program === 'sluice' ? looseProblem(args) : await problemOf(command, objects)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** `keys create|rotate NAME` is two commands. */
function alternativesOf(text: string): string[] {
  const [all = '', before = ''] = /^(.*? )[\w-]+(?:\|[\w-]+)+/.exec(text) ?? []
  if (all === '') return [text]
  const words = all.slice(before.length).split('|')
  return words.flatMap((word) => alternativesOf(before + word + text.slice(all.length)))
}

/** All definitions, with actions that do nothing. */
function definitions(complaints: string[] = []): Definition {
  const terminal = {
    ...{ env: {}, width: undefined, print: () => undefined },
    warn: (text: string) => complaints.push(text),
  }
  const line = commandLine(terminal, () => undefined)
  for (const one of [...line.commands, ...line.commands.flatMap(({ commands }) => commands)])
    if (one.commands.length === 0) one.action(() => undefined)
  return line
}

function sluiceProblem(args: string[]): string | undefined {
  if (args.length === 1 && args[0] === '--help') return undefined
  const complaints: string[] = []
  try {
    definitions(complaints).parse(args, { from: 'user' })
    return undefined
  } catch {
    return complaints.join(' ') || `sluice ${args.join(' ')} cannot be parsed`
  }
}

/** Only names of commands and options, and the number of arguments. */
function looseProblem(args: string[]): string | undefined {
  let command = definitions()
  const words = [...args]
  while (command.commands.length > 0 && words.length > 0) {
    const found = command.commands.find((one) => one.name() === words[0])
    if (found === undefined) return `${command.name()} has no command ${words[0]}`
    command = found
    words.shift()
  }
  let given = 0
  while (words.length > 0) {
    const word = words.shift() ?? ''
    if (!word.startsWith('-') || word === '-') given++
    else {
      const [flag = ''] = word.split('=')
      const option = command.options.find(({ short, long }) => short === flag || long === flag)
      if (option === undefined) return `${command.name()} has no option ${flag}`
      const takesNext = option.required && !word.includes('=') && !(words[0] ?? '-').startsWith('-')
      if (takesNext) words.shift()
    }
  }
  const { registeredArguments } = command
  const isVariadic = registeredArguments.some(({ variadic }) => variadic)
  if (given > registeredArguments.length && !isVariadic) return `${command.name()} takes no such argument`
  return undefined
}

const makefile = read('Makefile')
const targets = new Set([...makefile.matchAll(/^([a-z][a-z-]*):/gm)].map(([, name]) => name))

function makeProblem(args: string[]): string | undefined {
  for (const arg of args) {
    const [, variable] = /^([A-Z_]+)=/.exec(arg) ?? []
    if (variable === undefined && !targets.has(arg)) return `the Makefile has no target ${arg}`
    if (variable !== undefined && !makefile.includes(`$(${variable})`))
      return `the Makefile reads no ${variable}`
  }
  return undefined
}

/** By name, with its dashes: whether it takes a value. */
type Flags = ReadonlyMap<string, boolean>

const helps = new Map<string, Flags>()

/** The flags of a command, from its help. */
function flagsOf(program: 'kubectl' | 'helm', words: string[]): Flags {
  const key = [program, ...words].join(' ')
  const before = helps.get(key)
  if (before !== undefined) return before
  const run = (args: string[]) => execFileSync(binary(program), args, { encoding: 'utf8' })
  const text = run([...words, '--help']) + (program === 'kubectl' ? run(['options']) : '')
  const pattern =
    program === 'kubectl'
      ? /^ {4}(?:(-\w), )?(--[\w-]+)=(.*):$/gm
      : /^ +(?:(-\w), )?(--[\w-]+)((?: [a-zA-Z/]+)?) {2,}/gm
  const known = new Map<string, boolean>()
  for (const [, short, long = '', value = ''] of text.matchAll(pattern)) {
    const takesValue = program === 'kubectl' ? !/^(true|false)$/.test(value) : value !== ''
    known.set(long, takesValue)
    if (short !== undefined) known.set(short, takesValue)
  }
  helps.set(key, known)
  return known
}

/** Positionals and values of flags, or what is wrong with a flag. */
function parseFlags(args: string[], known: Flags): { plain: string[]; values: [string, string][] } | string {
  const plain: string[] = []
  const values: [string, string][] = []
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (arg === '--') break
    if (!arg.startsWith('-') || arg === '-') plain.push(arg)
    else {
      const [flag = '', ...rest] = arg.split('=')
      const takesValue = known.get(flag)
      if (takesValue === undefined) return `there is no flag ${flag}`
      if (rest.length > 0) values.push([flag, rest.join('=')])
      else if (takesValue) values.push([flag, args[++at] ?? ''])
    }
  }
  return { plain, values }
}

const crd = z.object({
  spec: z.object({
    names: z.object({
      plural: z.string(),
      singular: z.string(),
      shortNames: z.array(z.string()),
      categories: z.array(z.string()),
    }),
  }),
})
const ownKinds = new Set(
  readdirSync(join(ROOT, 'crds')).flatMap((file) => {
    const { plural, singular, shortNames, categories } = crd.parse(parse(read(`crds/${file}`))).spec.names
    return [plural, `${plural}.sluice.dev`, singular, ...shortNames, ...categories]
  }),
)
/** Kinds of Kubernetes that the pages name, and the kind of the chart's objects. */
const BUILT_IN: Record<string, string> = {
  ...{ pod: 'Pod', pods: 'Pod', secret: 'Secret', secrets: 'Secret', lease: 'Lease', crd: 'CRD' },
  ...{ pvc: 'PersistentVolumeClaim', deploy: 'Deployment', deployment: 'Deployment', namespace: 'Namespace' },
  endpoints: 'Endpoints',
}
const ON_OBJECTS = ['get', 'describe', 'delete', 'wait', 'logs', 'exec', 'rollout']
/** Words of a kubectl command before its arguments. */
const SUBCOMMANDS: Record<string, number> = { create: 2, rollout: 2, auth: 2 }

function kubectlProblem(args: string[], objects: readonly Manifest[]): string | undefined {
  if (args[0] === 'sluice') return undefined
  // Flags may stand before the verb, with their values: `--namespace sluice create`.
  const words = args.slice(
    args.findIndex((arg, at) => !arg.startsWith('-') && !/^--\w+$/.test(args[at - 1] ?? '')),
  )
  const [verb = ''] = words
  const depth = verb === 'create' && words[1] === 'secret' ? 3 : (SUBCOMMANDS[verb] ?? 1)
  const flags = parseFlags(args, flagsOf('kubectl', words.slice(0, depth)))
  if (typeof flags === 'string') return `kubectl ${verb}: ${flags}`
  const positional = flags.plain.slice(depth)
  for (const [flag, value] of flags.values) {
    if (flag === '-f' || flag === '--filename') {
      const isOurs = /^(examples|crds)\//.test(value)
      if (isOurs && !existsSync(join(ROOT, value))) return `there is no ${value}`
    }
    if ((flag === '-l' || flag === '--selector') && !objects.some((one) => hasPodLabel(one, value)))
      return `the chart has no pod with the label ${value}`
  }
  const afterDashes = args.includes('--') ? args.slice(args.indexOf('--') + 1) : []
  const inside = containerProblem(afterDashes)
  if (inside !== undefined) return inside
  if (!ON_OBJECTS.includes(verb)) return undefined
  const [first = '', ...names] = positional
  if (first === '' || isPlaceholder(first)) return undefined
  // logs and exec name a pod, or another object by its kind.
  const isPod = ['logs', 'exec'].includes(verb) && !first.includes('/')
  const targeted = isPod ? [`pod/${first}`] : first.includes('/') ? [first, ...names] : []
  const types =
    isPod || first.includes('/') ? targeted.map((one) => one.split('/')[0] ?? '') : first.split(',')
  // The shell expands {a,b}.sluice.dev.
  const expanded = types.flatMap((type) => (type.startsWith('{') ? [] : [type]))
  const unknown = expanded.find((type) => !ownKinds.has(type) && !(type in BUILT_IN))
  if (unknown !== undefined) return `there is no kind ${unknown}`
  const named =
    targeted.length > 0
      ? targeted.map((one) => one.split('/') as [string, string])
      : names.map((name) => [types[0] ?? '', name] as [string, string])
  for (const [type, name] of named) {
    const kind = BUILT_IN[type]
    const isKnown = kind === undefined || isPlaceholder(name) || namesOf(kind, objects).has(name)
    if (kind !== 'CRD' && !isKnown) return `the chart has no ${kind} ${name}`
  }
  return undefined
}

/** Names of the chart's objects of a kind, those included that its programs and Kubernetes make. */
function namesOf(kind: string, objects: readonly Manifest[]): Set<string> {
  const of = (wanted: string) =>
    objects.filter((one) => one.kind === wanted).map(({ metadata }) => metadata.name)
  if (kind === 'Pod') return new Set(of('StatefulSet').map((name) => `${name}-0`))
  if (kind === 'PersistentVolumeClaim') return new Set(of('StatefulSet').map((name) => `data-${name}-0`))
  if (kind === 'Lease') return new Set(of('Deployment'))
  if (kind === 'Namespace') return new Set(['sluice'])
  if (kind === 'Endpoints') return new Set(['kubernetes'])
  return new Set(of(kind))
}

const podLabels = z.object({
  spec: z.object({
    template: z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()) }) }),
  }),
})

function hasPodLabel(object: Manifest, selector: string): boolean {
  const { data } = podLabels.safeParse(object)
  const labels = data?.spec.template.metadata.labels ?? {}
  return selector.split(',').every((pair) => {
    const [name = '', value] = pair.split('=')
    return labels[name] === value
  })
}

async function helmProblem(args: string[]): Promise<string | undefined> {
  const verb = args.find((arg) => !arg.startsWith('-')) ?? 'install'
  const flags = parseFlags(args, flagsOf('helm', [verb]))
  if (typeof flags === 'string') return `helm ${verb}: ${flags}`
  const chart = ['install', 'upgrade', 'template'].includes(verb) ? flags.plain[2] : undefined
  if (chart === undefined) return undefined
  if (!existsSync(join(ROOT, chart, 'Chart.yaml'))) return `there is no chart ${chart}`
  const values = flags.values
    .filter(([flag]) => ['--set', '--show-only', '-f', '--values'].includes(flag))
    .flatMap(([flag, value]) => [flag, flag === '--values' || flag === '-f' ? join(ROOT, value) : value])
  if (join(ROOT, chart) !== CHART) return undefined
  return helm(['template', 'sluice', CHART, '--kube-version', '1.36.0', ...values]).then(
    () => undefined,
    (error: Error) => error.message,
  )
}

/** What the image starts: the file after the Node of its ENTRYPOINT. */
const [, NODE = '', MAIN = ''] = /^ENTRYPOINT \["([^"]+)".*"([^"]+)"\]$/m.exec(read('Dockerfile')) ?? []

function containerProblem(words: string[]): string | undefined {
  if (words[0] !== NODE) return undefined
  if (words[1] !== MAIN) return `the image has no ${words[1]}, but ${MAIN}`
  return sluiceProblem(words.slice(2))
}

function dockerProblem(args: string[]): string | undefined {
  const container = args.indexOf(NODE)
  if (container !== -1) return containerProblem(args.slice(container))
  const image = args.findIndex((arg) => /^([\w.]+\/)?sluice(:[\w.]+)?$/.test(arg))
  return args[0] === 'run' && image !== -1 && image < args.length - 1
    ? sluiceProblem(args.slice(image + 1))
    : undefined
}

const PATHS = new Set([
  ...Object.values(ENDPOINTS).map(({ path }) => path),
  '/v1/models',
  '/v1/usage',
  '/api/proxy',
])

function curlProblem(args: string[]): string | undefined {
  const url = args.find((arg) => /^https?:\/\//.test(arg))
  if (url === undefined) return 'curl gets no address'
  const [, port, path = ''] = /^https?:\/\/[^/:]+(?::(\d+))?(\/.*)$/.exec(url) ?? []
  if (port === '8081') return undefined
  return PATHS.has(path) ? undefined : `the gateway has no endpoint ${path}`
}

function fileProblem(args: string[]): string | undefined {
  const missing = args.find(
    (arg) => /\/|\.ts$/.test(arg) && !isPlaceholder(arg) && !existsSync(join(ROOT, arg)),
  )
  return missing === undefined ? undefined : `there is no ${missing}`
}
