/** What a command of the command line is. */
import type { Arguments, CommandFacts, OptionFacts } from './arguments.ts'

/** Where a command reads and writes. */
export interface Terminal {
  env: Readonly<Record<string, string | undefined>>
  /** A line, or several, of the answer. */
  print(text: string): void
  /** A line for whoever watches, beside the answer. */
  tell(text: string): void
}

export interface Command extends CommandFacts {
  /** The exit code: 0, or 1 when what was asked is not as it should be. Throws UsageError and CommandFailure. */
  run(args: Arguments, terminal: Terminal): Promise<number>
}

/** A command cannot do what it was asked; one sentence. Exit code 1. */
export class CommandFailure extends Error {
  override name = 'CommandFailure'
}

export const OUTPUTS = ['table', 'json'] as const

/** Options of several commands. */
export const OUTPUT_OPTION: Record<'output', OptionFacts> = {
  output: { type: 'string', short: 'o', value: 'json|table', help: 'form of the answer; default table' },
}
export const ADMIN_OPTIONS: Record<'admin' | 'sluice-namespace', OptionFacts> = {
  admin: {
    type: 'string',
    value: 'URL,URL',
    help: 'admin ports to ask; default SLUICE_ADMIN_URLS, else http://127.0.0.1:8081, else the pods',
  },
  'sluice-namespace': {
    type: 'string',
    value: 'NAME',
    help: 'namespace of the pods; default sluice, else the one of the kubeconfig',
  },
}

export function wantsJson(args: Arguments): boolean {
  return args.choice('output', OUTPUTS) === 'json'
}

/** JSON as every command prints it. */
export const json = (value: unknown) => JSON.stringify(value, null, 2)
