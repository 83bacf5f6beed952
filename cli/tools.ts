/** The commands that look at what runs or at files, and the way they end: 0, 1 for trouble, 2 for a wrong call. */
import { nearest } from '../controller/source/nearest.ts'
import { helpOf, readArguments, UsageError } from './arguments.ts'
import { type Command, CommandFailure, type Terminal } from './command.ts'

/** Loaded when they are wanted, so that each answers fast. */
const TOOLS: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ['status', async () => (await import('./status.ts')).status],
  ['explain', async () => (await import('./explain.ts')).explain],
  ['logs', async () => (await import('./logs.ts')).logs],
  ['validate', async () => (await import('./validate.ts')).validate],
])
const PROGRAMS = ['dev', 'controller', 'proxy']

/** Runs a command and gives its exit code. What cannot be done is one sentence for the terminal. */
export async function runTool(name: string, argv: readonly string[], terminal: Terminal): Promise<number> {
  const tool = TOOLS.get(name)
  if (tool === undefined) {
    const close = nearest(name, [...TOOLS.keys(), ...PROGRAMS])
    const hint = close === undefined ? '' : `; did you mean ${close}?`
    terminal.tell(`sluice: there is no command '${name}'${hint}${hint === '' ? ';' : ''} see sluice --help`)
    return 2
  }
  const command = await tool()
  try {
    const args = readArguments(command, argv)
    if (args !== undefined) return await command.run(args, terminal)
    terminal.print(helpOf(command))
    return 0
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.tell(`sluice ${name}: ${error.message}; see sluice ${name} --help`)
      return 2
    }
    if (!(error instanceof CommandFailure)) throw error
    terminal.tell(`sluice ${name}: ${error.message}`)
    return 1
  }
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  // Whoever read has gone, as in `sluice logs | head`: nothing is left to do.
  process.stdout.on('error', () => process.exit(0))
  return {
    env: process.env,
    print: (text) => void process.stdout.write(`${text}\n`),
    tell: (text) => void process.stderr.write(`${text}\n`),
  }
}
