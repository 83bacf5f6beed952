/** The program `sluice`. */
import { processTerminal } from './command.ts'

const argv = process.argv.slice(2)
if (argv.length === 1 && argv[0] === 'proxy') {
  // Without arguments there is nothing to parse: a proxy starts without the command line, 15 ms and 3 MB sooner.
  const { proxy } = await import('./proxy.ts')
  await proxy(process.env)
} else {
  const { runCommandLine } = await import('./command-line.ts')
  const code = await runCommandLine(argv, processTerminal())
  if (code !== undefined) process.exitCode = code
}
