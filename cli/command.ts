/** What the tools of the command line share: where they read and write, and how they fail. */

/** Where a tool reads and writes. */
export interface Terminal {
  env: Readonly<Record<string, string | undefined>>
  /** Columns of the screen; undefined where the answer goes to a file or another program. */
  width: number | undefined
  /** A line, or several, of the answer. */
  print(text: string): void
  /** A line for whoever watches, beside the answer. */
  tell(text: string): void
}

/** Gives the exit code: 0, or 1 when what was asked is not as it should be. Throws UsageError and CommandFailure. */
export type Tool<Options> = (options: Options, terminal: Terminal) => Promise<number>

/** The call cannot be understood; the message says what to change. Exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** A command cannot do what it was asked; one sentence. Exit code 1. */
export class CommandFailure extends Error {
  override name = 'CommandFailure'
}

/** Options of the tools that ask admin ports. */
export interface AdminOptions {
  admin?: string[]
  sluiceNamespace?: string
}

export interface OutputOptions {
  output: 'table' | 'json'
}

/** JSON as every command prints it. */
export const json = (value: unknown) => JSON.stringify(value, null, 2)

/** The terminal of this process. */
export function processTerminal(): Terminal {
  // Whoever read has gone, as in `sluice logs | head`: nothing is left to do.
  process.stdout.on('error', () => process.exit(0))
  return {
    env: process.env,
    width: process.stdout.isTTY ? process.stdout.columns : undefined,
    print: (text) => void process.stdout.write(`${text}\n`),
    tell: (text) => void process.stderr.write(`${text}\n`),
  }
}
