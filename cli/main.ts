/** The program `sluice`. */
import { processTerminal } from './command.ts'
import { runCommandLine } from './command-line.ts'

const code = await runCommandLine(process.argv.slice(2), processTerminal())
if (code !== undefined) process.exitCode = code
