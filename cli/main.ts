/** The command line: `sluice <command>`. */
import { version } from './version.ts'

const HELP = `sluice: an LLM gateway

Usage: sluice <command>

Commands:
  dev        gateway and controller in one process, resources from the folder SLUICE_CONFIG_DIR

Options:
  --help     this text
  --version  the version

Settings come from the environment; see docs/environment.md.`

const [command] = process.argv.slice(2)
switch (command) {
  case 'dev': {
    // Loaded when it is wanted: the other words answer at once.
    const { dev } = await import('./dev.ts')
    await dev(process.env)
    break
  }
  case '--version':
    console.log(version())
    break
  case undefined:
  case 'help':
  case '--help':
  case '-h':
    console.log(HELP)
    break
  default:
    console.error(`sluice: there is no command '${command}'; see sluice --help`)
    process.exitCode = 2
}
