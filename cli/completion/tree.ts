/** What can be typed: the commands with their options, read from the definitions of the command line. */
import type { Command } from 'commander'

/** What follows an option, or stands for an argument. */
export type Value = { is: 'words'; words: readonly string[] } | { is: 'files' } | { is: 'text' }

export interface CompletedOption {
  /** As typed: `-o`, `--output`. */
  flags: readonly string[]
  about: string
  /** Absent for an option without a value. */
  value?: Value
}

export interface CompletedCommand {
  /** The words that name it: empty for `sluice` itself, `ledger list`. */
  path: string
  commands: readonly { name: string; about: string }[]
  options: readonly CompletedOption[]
  /** Of its arguments; absent if it takes none. */
  argument?: Value
}

/** All commands, each after its parent. */
export function treeOf(command: Command, path = ''): CompletedCommand[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command)
  const options = help.visibleOptions(command).map((option) => ({
    flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
    about: option.description,
    ...((option.required || option.optional) && { value: valueFor(placeholderIn(option.flags)) }),
  }))
  const all = command.registeredArguments.map((argument) => valueFor(argument.name()))
  // Of several arguments, those that the shell can complete.
  const argument = all.find(({ is }) => is !== 'text') ?? all[0]
  const own = {
    ...{ path, options },
    commands: commands.map((one) => ({ name: one.name(), about: one.summary() || one.description() })),
    ...(argument !== undefined && { argument }),
  }
  const below = commands.filter((one) => one.name() !== 'help')
  return [own, ...below.flatMap((one) => treeOf(one, `${path} ${one.name()}`.trim()))]
}

const placeholderIn = (flags: string) => / [<[]([^>\]]*)/.exec(flags)?.[1] ?? ''

const FILES = ['path', 'file', 'folder', 'list']

/** Placeholders say what they stand for: `json|table`, `path`, `name`. */
function valueFor(placeholder: string): Value {
  if (placeholder.includes('|')) return { is: 'words', words: placeholder.split('|') }
  return { is: FILES.includes(placeholder) ? 'files' : 'text' }
}
