/** What the definitions of commands have in common. */
import type { Command, Option } from 'commander'
import { addresses, choice, text, valued } from '../arguments.ts'
import type { Tool } from '../command.ts'

/** Makes a command run a tool, whose code is loaded then. */
export type Runs = <Options>(command: Command, load: () => Promise<Tool<Options>>) => Command

/** One line of a paragraph; commander wraps it. */
export const prose = (text: string) => text.replace(/\s+/g, ' ').trim()

/** The output formats of a command; the first is the default. */
export function format<Word extends string>(words: readonly [Word, ...Word[]]): Option {
  return valued(`-o, --output <${words.join('|')}>`, 'output format', choice(words)).default(words[0])
}

export function withOutput(command: Command): Command {
  return command.addOption(
    valued('-o, --output <json|table>', 'output format', choice(['table', 'json'])).default('table'),
  )
}

export function withAdmin(command: Command): Command {
  return command
    .addOption(
      valued(
        '--admin <url,url>',
        'admin ports to read; default SLUICE_ADMIN_URLS, else http://127.0.0.1:8081, else the pods',
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
