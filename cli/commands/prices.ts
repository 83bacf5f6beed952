/** `sluice prices` and its commands. */
import type { Command } from 'commander'
import { text, texts, valued } from '../arguments.ts'
import { format, prose, type Runs } from './parts.ts'

export function addPrices(line: Command, runs: Runs): void {
  const prices = line
    .command('prices')
    .summary('take prices of routes from a list, compare them, or suggest one')
    .description('Takes prices of ModelRoutes from a price list, compares them, or suggests one.')
  runs(
    withRoutes(prices.command('import'))
      .summary('the price blocks that a price list gives the routes')
      .description(
        prose(`Reads a price list in the format that LiteLLM publishes (model_prices_and_context_window.json), and prints a price
block for each ModelRoute that it would change, with the difference. Writes nothing: put the block under spec of the
ModelRoute.`),
      )
      .addOption(format(['yaml', 'table', 'json']))
      .addHelpText('after', '\nExit code 1 if the list or a ModelRoute cannot be read.'),
    async () => (await import('../prices/import.ts')).importPrices,
  )
  runs(
    withRoutes(prices.command('check'))
      .summary('which routes have other prices than a price list')
      .description(
        'Compares the prices of ModelRoutes with a price list in the format that LiteLLM publishes.',
      )
      .addOption(format(['table', 'yaml', 'json']))
      .addHelpText(
        'after',
        `\n${prose(`Exit code 1 if the prices of a ModelRoute differ, it has none though the list does, or several entries fit it
with other prices than its own; or if the list or a ModelRoute cannot be read.`)}`,
      ),
    async () => (await import('../prices/import.ts')).checkPrices,
  )
  runs(
    prices
      .command('suggest')
      .summary('a price block for a well-known model')
      .description(
        prose(`Prints a price block for a model from the small catalogue that ships with this version, with the date and the
source of the price. Check it against the source before you use it.`),
      )
      .argument('<model>', 'name of the model, as its vendor calls it')
      .addOption(format(['yaml', 'json']))
      .addHelpText('after', '\nExit code 1 if the catalogue does not have the model.'),
    async () => (await import('../prices/suggest.ts')).suggest,
  )
}

function withRoutes(command: Command): Command {
  return command
    .argument('<list>', 'price list; - for standard input')
    .addOption(
      valued(
        '-f, --file <path>',
        'ModelRoutes: file, folder, or - for standard input; may be repeated; default: the cluster of the kubeconfig',
        texts,
      ),
    )
    .addOption(
      valued(
        '-n, --namespace <name>',
        'only this namespace; with -f, the one of documents that name none, default `default`',
        text,
      ),
    )
}
