/** Arguments of a command, read with node:util; help is made from the same description. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { nearest } from '../controller/source/nearest.ts'

export interface OptionFacts {
  type: 'string' | 'boolean'
  short?: string
  /** Takes several, one after the other. */
  multiple?: boolean
  /** What stands for the value in help. */
  value?: string
  help: string
}

export interface CommandFacts {
  name: string
  /** One line for the list of commands. */
  summary: string
  /** What follows the name in "Usage:". */
  usage: string
  /** More for --help: what it prints, exit codes. */
  about: string
  options: Readonly<Record<string, OptionFacts>>
}

/** The arguments cannot be understood; the message says what to change. Exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>

/** What was given, by option; of an option that was not given there is nothing. */
export class Arguments {
  readonly #values: Values

  constructor(values: Values) {
    this.#values = values
  }

  text(name: string): string | undefined {
    return this.texts(name).at(-1)
  }

  texts(name: string): string[] {
    const given = this.#values[name]
    return (Array.isArray(given) ? given : [given]).filter((value) => typeof value === 'string')
  }

  flag(name: string): boolean {
    return this.#values[name] === true
  }

  /** Throws UsageError for what is no whole number in these bounds. */
  count(name: string, min: number, max: number): number | undefined {
    const given = this.text(name)
    if (given === undefined) return undefined
    const value = Number(given)
    if (/^[0-9]+$/.test(given) && value >= min && value <= max) return value
    throw new UsageError(`--${name} must be a whole number from ${min} to ${max}`)
  }

  /** Throws UsageError for a word that is not one of these. */
  choice<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const given = this.text(name)
    if (given === undefined) return undefined
    const word = words.find((known) => known === given)
    if (word !== undefined) return word
    const close = nearest(given, words)
    throw new UsageError(
      `--${name} must be one of ${words.join(', ')}${close === undefined ? '' : `; did you mean ${close}?`}`,
    )
  }

  required(name: string, what: string): string {
    const given = this.text(name)
    if (given === undefined || given === '') throw new UsageError(`--${name} is missing: ${what}`)
    return given
  }
}

const HELP: OptionFacts = { type: 'boolean', short: 'h', help: 'this text' }

/** Undefined when help is asked for. Throws UsageError. */
export function readArguments(command: CommandFacts, argv: readonly string[]): Arguments | undefined {
  const options: ParseArgsOptionsConfig = {}
  for (const [name, { type, short, multiple }] of Object.entries({ ...command.options, help: HELP }))
    options[name] = { type, ...(short !== undefined && { short }), ...(multiple === true && { multiple }) }
  const { values, tokens } = parseArgs({ args: [...argv], options, strict: false, tokens: true })
  for (const token of tokens) {
    if (token.kind === 'positional')
      throw new UsageError(`'${token.value}' is not expected here; options begin with --`)
    if (token.kind === 'option') check(command, options, token)
  }
  return values.help === true ? undefined : new Arguments(values)
}

interface GivenOption {
  name: string
  /** As it was written. */
  rawName: string
  value?: string | undefined
  /** Written with `=`, or right behind a short name. */
  inlineValue?: boolean | undefined
}

function check(
  { options: own }: CommandFacts,
  options: ParseArgsOptionsConfig,
  { name, rawName, value, inlineValue }: GivenOption,
): void {
  const known = Object.hasOwn(options, name) ? options[name] : undefined
  if (known === undefined) {
    const close = nearest(name, Object.keys(options))
    throw new UsageError(
      `unknown option ${rawName}${close === undefined ? '' : `; did you mean --${close}?`}`,
    )
  }
  if (known.type === 'boolean' && value !== undefined) throw new UsageError(`${rawName} takes no value`)
  // An option's name is no value of the one before; whoever means it writes --name=-value.
  const missing = value === undefined || (!inlineValue && /^-./.test(value))
  if (known.type === 'string' && missing)
    throw new UsageError(
      `${rawName} needs a value${own[name]?.value === undefined ? '' : `: ${own[name].value}`}`,
    )
}

export function helpOf(command: CommandFacts): string {
  const rows = Object.entries({ ...command.options, help: HELP }).map(([name, { short, value, help }]) => {
    const names = `${short === undefined ? '' : `-${short}, `}--${name}`
    return { names: value === undefined ? names : `${names} ${value}`, help }
  })
  const width = Math.max(...rows.map(({ names }) => names.length))
  const options = rows.map(({ names, help }) => `  ${names.padEnd(width)}  ${help}`)
  return `sluice ${command.name}: ${command.summary}

Usage: sluice ${command.name} ${command.usage}

${command.about}

Options:
${options.join('\n')}`
}
