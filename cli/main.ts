/** The command line: `sluice <command>`. */
import { setFlagsFromString } from 'node:v8'
import { version } from './version.ts'

const HELP = `sluice: an LLM gateway

Usage: sluice <command>

Programs:
  dev         gateway and controller in one process, resources from the folder SLUICE_CONFIG_DIR
  controller  follows the resources of a cluster and publishes them to Redis
  proxy       serves traffic from what is published there

Tools:
  status      who runs, who leads, and which generation each proxy serves
  explain     where a request would go, or why it would be refused
  logs        recent requests, newest first
  validate    check resource files; needs no server

Options:
  --help      this text; sluice <tool> --help tells more
  --version   the version

Programs take their settings from the environment; see docs/environment.md. Tools: docs/cli.md.`

const [command, ...rest] = process.argv.slice(2)
switch (command) {
  case 'dev': {
    // Loaded when it is wanted: the other words answer at once.
    const { dev } = await import('./dev.ts')
    await dev(process.env)
    break
  }
  case 'controller': {
    // Before anything is loaded: it keeps all resources of a cluster in memory, and little of what it makes of them lives
    // long. By default V8 would hold twice as much, most of it for objects that are gone.
    setFlagsFromString('--optimize-for-size')
    setFlagsFromString('--semi-space-growth-factor=1')
    const { controller } = await import('./controller.ts')
    await controller(process.env)
    break
  }
  case 'proxy': {
    const { proxy } = await import('./proxy.ts')
    await proxy(process.env)
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
  default: {
    const { processTerminal, runTool } = await import('./tools.ts')
    process.exitCode = await runTool(command, rest, processTerminal())
  }
}
