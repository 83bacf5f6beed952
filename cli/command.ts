/** What the tools of the command line share. */

/** Where a tool reads and writes. */
export interface Terminal {
  env: Readonly<Record<string, string | undefined>>
  /** Columns of the screen; undefined when the output goes to a file or another program. */
  width: number | undefined
  /** Writes one or more lines to standard output. */
  print(text: string): void
  /** Writes a line to standard error. */
  warn(text: string): void
}

/** Returns the exit code: 0, or 1 if the tool found a problem. Throws UsageError and CommandFailure. */
export type Tool<Options> = (options: Options, terminal: Terminal) => Promise<number>

/** The arguments are invalid; the message says what to change. Exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** The command cannot do its work; the message is one sentence. Exit code 1. */
export class CommandFailure extends Error {
  override name = 'CommandFailure'
}

/** Options of the tools that read admin ports. */
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
  // The reader has closed the pipe, as in `sluice logs | head`.
  process.stdout.on('error', () => process.exit(0))
  return {
    env: process.env,
    width: process.stdout.isTTY ? process.stdout.columns : undefined,
    print: (text) => void process.stdout.write(`${text}\n`),
    warn: (text) => void process.stderr.write(`${text}\n`),
  }
}
