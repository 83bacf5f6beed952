/** `sluice completion`: prints what makes a shell complete commands and options. */
import type { Command } from 'commander'
import { type Tool, UsageError } from '../command.ts'
import { bashScript, zshScript } from './bash.ts'
import { fishScript } from './fish.ts'
import { treeOf } from './tree.ts'

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript }

/** `line`: the whole command line. */
export function completionOf(line: Command): Tool<{ args: string[] }> {
  return async ({ args: [shell = ''] }, terminal) => {
    if (!isShell(shell))
      throw new UsageError(`there is no completion for ${shell}, but for ${Object.keys(SHELLS).join(', ')}`)
    terminal.print(SHELLS[shell](treeOf(line)))
    return 0
  }
}

const isShell = (name: string): name is keyof typeof SHELLS => Object.hasOwn(SHELLS, name)
