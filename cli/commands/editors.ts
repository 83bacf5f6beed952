/** Commands for editors and shells. */
import type { Command } from 'commander'
import { prose, type Runs } from './parts.ts'

export function addEditors(line: Command, runs: Runs): void {
  runs(
    line
      .command('schema')
      .summary('the JSON Schema of resources, for editors')
      .description(
        prose(`Prints the JSON Schema of a kind; without one, of files with documents of all kinds, Secrets included. Editors
check and complete YAML with it. Rules between fields are not in it: sluice validate checks them.`),
      )
      .argument('[kind]', 'ApiKey, Account, Credit, Channel or ModelRoute'),
    async () => (await import('../schema.ts')).schema,
  )
  runs(
    line
      .command('completion')
      .summary('completion of commands and options in your shell')
      .description(
        prose(`Prints a script that completes commands and options. bash: source <(sluice completion bash) in ~/.bashrc; zsh: the
same with zsh in ~/.zshrc; fish: sluice completion fish > ~/.config/fish/completions/sluice.fish.`),
      )
      .argument('<bash|zsh|fish>', 'the shell'),
    async () => (await import('../completion/scripts.ts')).completionOf(line),
  )
}
