/** The commands with their arguments and help. The code of a command is loaded when it runs, so that each starts fast. */
import { setFlagsFromString } from 'node:v8'
import { Command, CommanderError } from 'commander'
import { DEFAULT_ENDPOINT, ENDPOINT_NAMES } from '../contract/endpoints.ts'
import { MAX_WORKERS } from '../contract/settings/fields.ts'
import { present } from '../kit/present.ts'
import { choice, choices, count, day, dollars, span, status, text, texts, valued } from './arguments.ts'
import { CommandFailure, type Terminal, type Tool, UsageError } from './command.ts'
import { addEditors } from './commands/editors.ts'
import { addKeys } from './commands/keys.ts'
import { prose, type Runs, withAdmin, withOutput } from './commands/parts.ts'
import { addPrices } from './commands/prices.ts'
import { version } from './version.ts'

const MAX_TOKENS = 10_000_000
const MAX_LINES = 1_000
const PORT = count(0, 65_535)

/** Runs a command and returns its exit code; undefined for a program, which keeps running and sets its own. */
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

/** The definitions of all commands. `ended` gets the exit code of a tool. */
export function commandLine(terminal: Terminal, ended: (code: number) => void): Command {
  const line = new Command('sluice')
    .description('An LLM gateway configured by Kubernetes resources.')
    .usage('<command>')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .exitOverride()
    .configureOutput({
      writeOut: (output) => terminal.print(output.trimEnd()),
      writeErr: (output) => terminal.warn(output.trimEnd()),
      getOutHelpWidth: () => terminal.width ?? 100,
    })
  addPrograms(line.commandsGroup('Programs:'))
  addTools(line.commandsGroup('Tools:'), terminal, ended)
  for (const command of [line, ...line.commands, ...line.commands.flatMap(({ commands }) => commands)])
    command.configureOutput({
      outputError: (message, write) => write(sentenceOf(command, message)),
    })
  return line
}

/** Commander's message in the form of our own error lines. */
function sentenceOf(command: Command, message: string): string {
  const what = message
    .trim()
    .replace(/^error: /, '')
    .replace(/\n\(Did you mean (.*)\)$/s, '; did you mean $1')
  const name = nameOf(command)
  return `${name}: ${what} (see ${name} --help)\n`
}

/** As it is typed: `sluice ledger list`. */
function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`
}

const FROM_ENVIRONMENT = `
All other settings come from the environment: docs/environment.md.`

function addPrograms(line: Command): void {
  line
    .command('dev')
    .summary('proxy and controller in one process, resources from a folder')
    .description('Runs proxy and controller in one process, and reads the resources from a folder.')
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
    .summary('watches the resources of a cluster, or of a folder, and publishes them to Redis')
    .description(
      'Watches the resources of a cluster, or of a folder, and publishes them to Redis. With a folder it needs no cluster.',
    )
    .addOption(
      valued('--config <folder>', 'folder of resources; default SLUICE_CONFIG_DIR, else the cluster', text),
    )
    .addHelpText('after', FROM_ENVIRONMENT)
    .action(async ({ config }: { config?: string }) => {
      // Must be set before anything is loaded. The controller keeps all resources of a cluster in memory, and most
      // other objects are short-lived. With V8's defaults the process takes twice the memory, mostly for dead objects.
      setFlagsFromString('--optimize-for-size')
      setFlagsFromString('--semi-space-growth-factor=1')
      const { controller } = await import('./controller.ts')
      await controller({ ...process.env, ...settingsOf(config, {}) })
    })
  line
    .command('proxy')
    .summary('serves traffic from the tables in Redis')
    .description('Serves traffic from the tables that a controller has published to Redis.')
    .addOption(
      valued(
        '--workers <n>',
        'processes that serve as one, for machines without a cluster; default SLUICE_WORKERS, else 1',
        count(1, MAX_WORKERS),
      ),
    )
    .addHelpText('after', FROM_ENVIRONMENT)
    .action(async ({ workers }: { workers?: number }) => {
      const { proxy } = await import('./proxy.ts')
      await proxy({ ...process.env, ...present({ SLUICE_WORKERS: workers?.toString() }) })
    })
}

interface DevOptions {
  port?: number
  adminPort?: number
  host?: string
}

/** Arguments take precedence over the environment. */
function settingsOf(folder: string | undefined, { port, adminPort, host }: DevOptions): NodeJS.ProcessEnv {
  return present({
    SLUICE_CONFIG_DIR: folder,
    SLUICE_PORT: port?.toString(),
    SLUICE_ADMIN_PORT: adminPort?.toString(),
    SLUICE_HOST: host,
  })
}

const NEEDS_REDIS = `
Reads SLUICE_REDIS_URL and SLUICE_SEALING_KEYS_FILE; in a cluster, run it in the pod of a controller.`

function addTools(line: Command, terminal: Terminal, ended: (code: number) => void): void {
  const runs: Runs = <Options>(command: Command, load: () => Promise<Tool<Options>>) =>
    command.action(async () => {
      const tool = await load()
      const options: Options & { args: string[] } = { ...command.opts(), args: command.args }
      ended(await tool(options, terminal).catch((error) => failed(command, error, terminal)))
    })

  runs(
    withAdmin(withOutput(line.command('status')))
      .summary('which programs run, who leads, and which generation each proxy serves')
      .description(
        prose(`Shows which programs run, who leads, and which generation each proxy serves. Reads every admin port; lists proxies
without an admin port by their heartbeats.`),
      )
      .addHelpText(
        'after',
        `\n${prose(`Exit code 1 if a program is not reachable, is not ready, does not reach its store or does not serve the newest
generation, or if no controller leads.`)}`,
      ),
    async () => (await import('./status.ts')).status,
  )

  runs(
    withAdmin(withOutput(line.command('explain')))
      .summary('where a request would go, or why it would be refused')
      .description(
        prose(`Shows where a request would go, or why it would be refused. Reads the key from a controller, and from every proxy
what it would do now. Calls no upstream and holds no money.`),
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
        valued('--input-tokens <n>', 'tokens of the prompt to hold for; default 1000', count(0, MAX_TOKENS)),
      )
      .addOption(
        valued('--max-tokens <n>', 'output limit of the request; default the route’s', count(0, MAX_TOKENS)),
      )
      .addHelpText(
        'after',
        '\nExit code 1 if a proxy would refuse the request, or a program is not reachable.',
      ),
    async () => (await import('./explain.ts')).explain,
  )

  runs(
    withAdmin(withOutput(line.command('logs')))
      .summary('recent requests, and why one failed')
      .description(
        prose(`Shows the requests that are still in the log, newest first. Several options must all match. Costs are in dollars,
tokens are input/output, times are UTC. With -o json each line is one request as it was logged.`),
      )
      .addOption(
        valued(
          '--request-id <id>',
          'the request with this x-request-id; its first characters are enough',
          text,
        ),
      )
      .addOption(valued('--key <name>', 'requests of an ApiKey: its name, or namespace/name', text))
      .addOption(valued('-n, --namespace <name>', 'requests of keys of this namespace', text))
      .addOption(valued('--status <status>', 'status of the answer, such as 502 or 5xx', status))
      .addOption(valued('--limit <n>', 'at most this many', count(1, MAX_LINES)).default(20))
      .option('-f, --follow', 'then print new requests as they end, until Ctrl-C')
      .addHelpText('after', '\nExit code 1 if no request matches, or a program is not reachable.'),
    async () => (await import('./logs.ts')).logs,
  )

  runs(
    withOutput(line.command('validate'))
      .summary('check resource files; needs no server')
      .description(
        prose(`Checks resource files without a server. Prints file:line:column and what to change, in the words of sluice dev and
the API server. A resource that is valid but would not be in force, for example because a reference is missing in the
files, is a warning; so is a likely mistake. Every resource is checked as a new one: only the API server can refuse a
forbidden change, such as one to a Credit.`),
      )
      .addOption(
        valued(
          '-f, --file <path>',
          'file, folder, or - for standard input; may be repeated',
          texts,
        ).makeOptionMandatory(),
      )
      .addOption(
        valued('-n, --namespace <name>', 'namespace of documents that name none', text).default('default'),
      )
      .option('--strict', 'fail on warnings too')
      .addHelpText('after', '\nExit code 1 if the files have problems; with --strict also for a warning.'),
    async () => (await import('./validate.ts')).validate,
  )

  runs(
    withAdmin(line.command('usage'))
      .summary('who used what: requests, tokens and costs')
      .description(
        prose(`Adds up requests, tokens and costs of all keys over whole days (UTC). Costs are those of the ledger, to the
nano-dollar; tags are counted by account and day alone.`),
      )
      .addOption(
        valued('--since <day>', 'first day: 2026-12-31, today, yesterday, 30d', day).default(
          day('30d'),
          '30d',
        ),
      )
      .addOption(valued('--until <day>', 'last day', day).default(day('today'), 'today'))
      .addOption(
        valued(
          '--by <names>',
          'account, key, model, channel, day; or tag, with account and day',
          choices(['account', 'key', 'model', 'channel', 'tag', 'day']),
        ).default(['account'], 'account'),
      )
      .addOption(
        valued('-o, --output <table|csv|json>', 'output format', choice(['table', 'csv', 'json'])).default(
          'table',
        ),
      ),
    async () => (await import('./usage.ts')).usage,
  )
  const ledger = line
    .command('ledger')
    .summary('compare, list, correct and restore balances')
    .description('Works on the ledger, which keeps the balances.')
  runs(
    withAdmin(withOutput(ledger.command('verify')))
      .summary('compare the journal with the balances')
      .description(
        prose(`Adds up the lines of a ledger journal (SLUICE_JOURNAL) for each account, and compares them with the ledger. The
lines may come in any order, more than once, and between other lines.`),
      )
      .argument('<file...>', 'files of the journal; - for standard input')
      .addHelpText('after', '\nExit code 1 if an account differs, or no controller answers.'),
    async () => (await import('./ledger/verify.ts')).verify,
  )
  runs(
    withOutput(ledger.command('list'))
      .summary('the entries of an account')
      .description(
        prose(`Lists the entries of an account that are still in Redis, oldest first: Credits, requests and corrections. Older
ones are in the journal.`),
      )
      .argument('<account>', 'namespace/name of the Account')
      .addOption(valued('--since <time>', 'how far back: 90s, 15m, 2h', span).default(3_600_000, '1h'))
      .addOption(valued('--sub <name>', 'only this sub-account', text))
      .addHelpText('after', NEEDS_REDIS),
    async () => (await import('./ledger/list.ts')).list,
  )
  runs(
    withOutput(ledger.command('adjust'))
      .summary('correct what an account was credited and has spent')
      .description(
        prose(`Writes a correction of a balance into the ledger, with a reason. Amounts are in dollars, and raise the sum; write a
negative one as --spent=-1.50.`),
      )
      .argument('<account>', 'namespace/name of the Account')
      .addOption(valued('--credited <amount>', 'raise what the account was credited by this', dollars))
      .addOption(valued('--spent <amount>', 'raise what the account has spent by this', dollars))
      .addOption(
        valued('--sub <name>', 'correct the allowance of this sub-account, and nothing of its parent', text),
      )
      .addOption(valued('--reason <text>', 'why, for the journal', text).makeOptionMandatory())
      .addOption(valued('--id <id>', 'of an earlier attempt: nothing is corrected twice', text))
      .option('--dry-run', 'change nothing, and show what would change')
      .addHelpText('after', `\nExit code 1 if the ledger refuses the correction.${NEEDS_REDIS}`),
    async () => (await import('./ledger/adjust.ts')).adjust,
  )
  runs(
    withAdmin(ledger.command('restore'))
      .summary('which accounts are closed because their balance was lost; open one')
      .description(
        prose(`Without an account: lists the accounts that are closed because Redis has lost their balance, why, and what to type.
With one: gives it back its sums, and the leader opens it.`),
      )
      .argument('[account]', 'namespace/name of the Account')
      .addOption(valued('--from <file>', 'file of its journal; may be repeated; - for standard input', texts))
      .addOption(valued('--spent <amount>', 'what it has spent, in dollars', dollars))
      .addOption(valued('--credited <amount>', 'with --spent: what deleted Credits had given it', dollars))
      .addHelpText('after', `\nExit code 1 if accounts are closed, or one cannot be restored.${NEEDS_REDIS}`),
    async () => (await import('./ledger/restore.ts')).restore,
  )

  addKeys(line, runs)
  addPrices(line, runs)
  addEditors(line, runs)

  runs(
    line
      .command('key')
      .summary('the value of an ApiKey in a folder')
      .description('Prints the value of an ApiKey in a folder of resources.')
      .argument('<name>', 'name of the ApiKey')
      .argument('<folder>', 'folder or file of resources')
      .addOption(valued('-n, --namespace <name>', 'namespace of the ApiKey', text).default('default'))
      .addHelpText('after', '\nExit code 1 if there is no such key.'),
    async () => (await import('./key.ts')).key,
  )
}

/** Prints an expected failure as one sentence, and returns the exit code. */
function failed(command: Command, error: unknown, terminal: Terminal): number {
  const name = nameOf(command)
  if (error instanceof UsageError) {
    terminal.warn(`${name}: ${error.message} (see ${name} --help)`)
    return 2
  }
  if (!(error instanceof CommandFailure)) throw error
  terminal.warn(`${name}: ${error.message}`)
  return 1
}
