/** `sluice keys` and `sluice credits` with their commands. */
import type { Command } from 'commander'
import { budgets, count, labels, limits, list, span, text, valued } from '../arguments.ts'
import { prose, type Runs, withAdmin, withOutput } from './parts.ts'

const MOST_KEYS = 10_000

export function addKeys(line: Command, runs: Runs): void {
  const keys = line
    .command('keys')
    .summary('create, rotate, revoke and list ApiKeys')
    .description('Creates and changes ApiKeys in the cluster of the kubeconfig, or in a folder of resources.')
  runs(
    withSecretLabels(withPlace(withOutput(keys.command('create'))))
      .summary('ApiKeys with new keys, which are printed once')
      .description(
        prose(`Creates an ApiKey with its Secret and prints the key, which no other command prints again. With --count and --prefix
many at once. What exists already with the same spec is left alone, so that a call that was interrupted can be made again.`),
      )
      .argument('[name]', 'name of the ApiKey')
      .addOption(valued('--count <n>', 'so many, named by --prefix and a number', count(1, MOST_KEYS)))
      .addOption(valued('--prefix <text>', 'beginning of their names, such as student-', text))
      .addOption(valued('--account <name>', 'Account that pays', text))
      .addOption(valued('--models <globs>', 'models that it may use, such as gpt-4o*,o3', list))
      .addOption(valued('--expires <time>', 'when it is refused, such as 2027-12-31T23:59:59Z', text))
      .addOption(valued('--limit <name=n>', 'such as requestsPerMinute=10; may be repeated', limits))
      .addOption(
        valued('--budget <amount/period>', 'such as 5/Month; the period is Month, Week or Day', budgets),
      )
      .option('--dry-run', 'create nothing, and show what would be created')
      .addHelpText('after', '\nExit code 1 if one exists with another spec, or cannot be created.'),
    async () => (await import('../keys/create.ts')).create,
  )
  runs(
    withSecretLabels(withPlace(withOutput(keys.command('rotate'))))
      .summary('a new key beside the old one, which ends after a while')
      .description(
        prose(`Creates a Secret with a new key and prints it. The old key is good until the overlap is over. Refused while an
earlier overlap runs.`),
      )
      .argument('<name>', 'name of the ApiKey')
      .addOption(
        valued('--overlap <time>', 'how long the old key is good: 15m, 2h, 7d', span).default(
          86_400_000,
          '1d',
        ),
      )
      .option('--dry-run', 'change nothing, and show what would change')
      .addHelpText('after', '\nExit code 1 if an overlap runs, or the key cannot be rotated.'),
    async () => (await import('../keys/change.ts')).rotate,
  )
  runs(
    withPlace(withOutput(keys.command('revoke')))
      .summary('refuse a key from now on')
      .description('Sets spec.disabled. The ApiKey stays, so that its usage keeps its name.')
      .argument('<name>', 'name of the ApiKey')
      .option('--dry-run', 'change nothing'),
    async () => (await import('../keys/change.ts')).revoke,
  )
  runs(
    withAdmin(withPlace(withOutput(keys.command('list'))))
      .summary('the ApiKeys, when each was last used, and what it has spent')
      .description(
        prose(`Lists the ApiKeys of a namespace, never the keys. Last use and spending come from a controller; without one, they are
left out.`),
      ),
    async () => (await import('../keys/list.ts')).list,
  )
  runs(
    withAdmin(withPlace(keys.command('show')))
      .summary('all about one ApiKey, as JSON')
      .description(
        'Shows the limits, the budgets, the conditions and the spending of an ApiKey, never the key.',
      )
      .argument('<name>', 'name of the ApiKey'),
    async () => (await import('../keys/list.ts')).show,
  )
  const credits = line
    .command('credits')
    .summary('credit an account')
    .description('Creates Credits in the cluster of the kubeconfig, or in a folder of resources.')
  runs(
    withPlace(withOutput(credits.command('add')))
      .summary('money for an account, once per name')
      .description(
        prose(`Creates a Credit. With --name the same command may be repeated: it adds nothing again. A negative amount takes money
back; write it after --.`),
      )
      .argument('<account>', 'name of the Account')
      .argument('<amount>', 'dollars, such as 25.00')
      .addOption(valued('--name <name>', 'of the Credit; default: the account and the time', text))
      .addOption(valued('--note <text>', 'for people, such as an invoice number', text))
      .option('--dry-run', 'create nothing')
      .addHelpText('after', '\nExit code 1 if a Credit of this name has another account or amount.'),
    async () => (await import('../credits.ts')).addCredit,
  )
}

function withSecretLabels(command: Command): Command {
  return command.addOption(
    valued('--secret-labels <name=value>', 'labels of the Secret in a cluster, separated by commas', labels),
  )
}

function withPlace(command: Command): Command {
  return command
    .addOption(valued('--folder <path>', 'a folder of resources instead of a cluster', text))
    .addOption(
      valued('-n, --namespace <name>', 'namespace; default: that of the kubeconfig, else default', text),
    )
}
