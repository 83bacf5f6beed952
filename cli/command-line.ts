/** The commands with their arguments and help. What a command does is loaded when it runs, so that each answers fast. */
import { setFlagsFromString } from 'node:v8'
import { Command, CommanderError } from 'commander'
import { DEFAULT_ENDPOINT, ENDPOINT_NAMES } from '../contract/endpoints.ts'
import { addresses, choice, count, status, text, texts, valued } from './arguments.ts'
import { CommandFailure, type Terminal, type Tool, UsageError } from './command.ts'
import { version } from './version.ts'

const MAX_TOKENS = 10_000_000
const MAX_LINES = 1_000
const PORT = count(0, 65_535)

/** Runs a command and gives its exit code; undefined for a program, which goes on and sets its own. */
export async function runCommandLine(
  argv: readonly string[],
  terminal: Terminal,
): Promise<number | undefined> {
  let code: number | undefined
  const line = commandLine(terminal, (ended) => {
    code = ended
  })
  if (argv.length === 0) {
    line.outputHelp()
    return 0
  }
  try {
    await line.parseAsync(argv, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    throw error
  }
}

function commandLine(terminal: Terminal, ended: (code: number) => void): Command {
  const line = new Command('sluice')
    .description('An LLM gateway that is configured by Kubernetes resources.')
    .usage('<command>')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .exitOverride()
    .configureOutput({
      writeOut: (output) => terminal.print(output.trimEnd()),
      writeErr: (output) => terminal.tell(output.trimEnd()),
      getOutHelpWidth: () => terminal.width ?? 100,
    })
  addPrograms(line.commandsGroup('Programs:'))
  addTools(line.commandsGroup('Tools:'), terminal, ended)
  for (const command of [line, ...line.commands])
    command.configureOutput({
      outputError: (message, write) => write(sentenceOf(command, message)),
    })
  return line
}

/** A paragraph, for commander to wrap. */
const prose = (text: string) => text.replace(/\s+/g, ' ').trim()

/** Commander's message as one line of ours. */
function sentenceOf(command: Command, message: string): string {
  const what = message
    .trim()
    .replace(/^error: /, '')
    .replace(/\n\(Did you mean (.*)\)$/s, '; did you mean $1')
  const name = command.parent === null ? 'sluice' : `sluice ${command.name()}`
  return `${name}: ${what} (see ${name} --help)\n`
}

const FROM_ENVIRONMENT = `
All other settings come from the environment: docs/environment.md.`

function addPrograms(line: Command): void {
  line
    .command('dev')
    .summary('gateway and controller in one process, resources from a folder')
    .description(
      'Runs gateway and controller in one process. What it serves is read from a folder of resources.',
    )
    .argument('[folder]', 'folder of resources; default SLUICE_CONFIG_DIR, else the quickstart')
    .addOption(valued('--port <n>', 'port of the API; default SLUICE_PORT, else 8080', PORT))
    .addOption(valued('--admin-port <n>', 'admin port; default SLUICE_ADMIN_PORT, else 8081', PORT))
    .addOption(valued('--host <address>', 'address to listen on; default SLUICE_HOST, else loopback', text))
    .addHelpText('after', FROM_ENVIRONMENT)
    .action(async (folder: string | undefined, options: DevOptions) => {
      const { dev } = await import('./dev.ts')
      await dev({ ...process.env, ...settingsOf(folder, options) })
    })
  line
    .command('controller')
    .summary('follows the resources of a cluster and publishes them to Redis')
    .description('Follows the resources of a cluster and publishes them to Redis.')
    .addHelpText('after', FROM_ENVIRONMENT)
    .action(async () => {
      // Before anything is loaded: it keeps all resources of a cluster in memory, and little of what it makes of them
      // lives long. By default V8 would hold twice as much, most of it for objects that are gone.
      setFlagsFromString('--optimize-for-size')
      setFlagsFromString('--semi-space-growth-factor=1')
      const { controller } = await import('./controller.ts')
      await controller(process.env)
    })
  line
    .command('proxy')
    .summary('serves traffic from what is published there')
    .description('Serves traffic from what a controller has published to Redis.')
    .addHelpText('after', FROM_ENVIRONMENT)
    .action(async () => {
      const { proxy } = await import('./proxy.ts')
      await proxy(process.env)
    })
}

interface DevOptions {
  port?: number
  adminPort?: number
  host?: string
}

/** Arguments go before the environment. */
function settingsOf(folder: string | undefined, { port, adminPort, host }: DevOptions): NodeJS.ProcessEnv {
  return {
    ...(folder !== undefined && { SLUICE_CONFIG_DIR: folder }),
    ...(port !== undefined && { SLUICE_PORT: String(port) }),
    ...(adminPort !== undefined && { SLUICE_ADMIN_PORT: String(adminPort) }),
    ...(host !== undefined && { SLUICE_HOST: host }),
  }
}

function addTools(line: Command, terminal: Terminal, ended: (code: number) => void): void {
  const runs = <Options>(command: Command, load: () => Promise<Tool<Options>>) =>
    command.action(async () => {
      const tool = await load()
      const options: Options & { args: string[] } = { ...command.opts(), args: command.args }
      ended(await tool(options, terminal).catch((error) => failed(command, error, terminal)))
    })

  runs(
    withAdmin(withOutput(line.command('status')))
      .summary('who runs, who leads, and which generation each proxy serves')
      .description(
        prose(`Shows who runs, who leads, and which generation each proxy serves. Asks every admin port; proxies that no admin
port stands for are listed from their heartbeats.`),
      )
      .addHelpText(
        'after',
        `\n${prose(`Exit code 1 when one is not reachable, not ready, without its store, or does not serve the newest generation, and when
no controller leads.`)}`,
      ),
    async () => (await import('./status.ts')).status,
  )

  runs(
    withAdmin(withOutput(line.command('explain')))
      .summary('where a request would go, or why it would be refused')
      .description(
        prose(`Shows where a request would go, or why it would be refused. Asks a controller for the key and every proxy what it
would do now. No upstream is called and nothing is held.`),
      )
      .addOption(valued('--key <name>', 'name of the ApiKey', text).makeOptionMandatory())
      .addOption(valued('--model <model>', 'model as the client sends it', text).makeOptionMandatory())
      .addOption(valued('-n, --namespace <name>', 'namespace of the ApiKey', text).default('default'))
      .addOption(
        valued('--endpoint <name>', ENDPOINT_NAMES.join(', '), choice(ENDPOINT_NAMES)).default(
          DEFAULT_ENDPOINT,
        ),
      )
      .addOption(
        valued(
          '--input-tokens <n>',
          'size of the prompt that is held for; default 1000',
          count(0, MAX_TOKENS),
        ),
      )
      .addOption(
        valued('--max-tokens <n>', 'output limit of the request; default the route’s', count(0, MAX_TOKENS)),
      )
      .addHelpText(
        'after',
        `\n${prose(`Exit code 1 when a proxy would refuse the request, or a program is not reachable.`)}`,
      ),
    async () => (await import('./explain.ts')).explain,
  )

  runs(
    withAdmin(withOutput(line.command('logs')))
      .summary('recent requests, and why one failed')
      .description(
        prose(`Shows the requests that the proxies still have in their log, the newest first; all conditions must hold. Costs are
dollars, tokens input/output, times UTC. With -o json each line is one request as it was logged.`),
      )
      .addOption(valued('--request-id <id>', 'the request with this x-request-id, or its beginning', text))
      .addOption(valued('--key <name>', 'requests of an ApiKey: its name, or namespace/name', text))
      .addOption(valued('-n, --namespace <name>', 'requests of keys of this namespace', text))
      .addOption(valued('--status <status>', 'status that the client got, such as 502 or 5xx', status))
      .addOption(valued('--limit <n>', 'at most so many', count(1, MAX_LINES)).default(20))
      .option('-f, --follow', 'then print new requests as they end, until Ctrl-C')
      .addHelpText(
        'after',
        `\n${prose(`Exit code 1 when no request matches, or a program is not reachable.`)}`,
      ),
    async () => (await import('./logs.ts')).logs,
  )

  runs(
    withOutput(line.command('validate'))
      .summary('check resource files; needs no server')
      .description(
        prose(`Checks resource files, without a server. Prints file:line:column and what to change, in the words that sluice dev and
the API server use. What is valid and would not be in force, such as a reference to something that is not in the files,
is a warning, and so is what is most likely a mistake. An update is judged as a creation: what may not change, such as a
Credit, is the API server's to tell.`),
      )
      .addOption(
        valued(
          '-f, --file <path>',
          'file, folder, or - for standard input; may be repeated',
          texts,
        ).makeOptionMandatory(),
      )
      .addOption(valued('-n, --namespace <name>', 'namespace of what names none', text).default('default'))
      .option('--strict', 'warnings fail too')
      .addHelpText(
        'after',
        `\n${prose(`Exit code 1 when something is wrong; with --strict also for a warning.`)}`,
      ),
    async () => (await import('./validate.ts')).validate,
  )

  runs(
    line
      .command('key')
      .summary('the value of an ApiKey in a folder')
      .description('Prints the value of an ApiKey in a folder of resources.')
      .argument('<name>', 'name of the ApiKey')
      .argument('<folder>', 'folder or file of resources')
      .addOption(valued('-n, --namespace <name>', 'namespace of the ApiKey', text).default('default'))
      .addHelpText('after', '\nExit code 1 when there is no such key.'),
    async () => (await import('./key.ts')).key,
  )
}

function withOutput(command: Command): Command {
  return command.addOption(
    valued('-o, --output <json|table>', 'form of the answer', choice(['table', 'json'])).default('table'),
  )
}

function withAdmin(command: Command): Command {
  return command
    .addOption(
      valued(
        '--admin <url,url>',
        'admin ports to ask; default SLUICE_ADMIN_URLS, else http://127.0.0.1:8081, else the pods',
        addresses,
      ),
    )
    .addOption(
      valued(
        '--sluice-namespace <name>',
        'namespace of the pods; default sluice, else the one of the kubeconfig',
        text,
      ),
    )
}

/** What cannot be done is one sentence. */
function failed(command: Command, error: unknown, terminal: Terminal): number {
  const name = `sluice ${command.name()}`
  if (error instanceof UsageError) {
    terminal.tell(`${name}: ${error.message} (see ${name} --help)`)
    return 2
  }
  if (!(error instanceof CommandFailure)) throw error
  terminal.tell(`${name}: ${error.message}`)
  return 1
}
