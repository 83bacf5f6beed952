/** Completion for bash, and for zsh through its bashcompinit. */
import type { CompletedCommand, CompletedOption } from './tree.ts'

/** A script for `~/.bashrc`: source <(sluice completion bash). */
export function bashScript(tree: readonly CompletedCommand[]): string {
  return `# Completion of sluice for bash; made by: sluice completion bash
_sluice_reply() {
  local word
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen "$@")
}
_sluice() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command='' word index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    case "\${command:+$command }$word" in
      ${pattern(tree.map(({ path }) => path).filter((path) => path !== ''))}) command="\${command:+$command }$word" ;;
    esac
  done
  COMPREPLY=()
  case "$command $before" in
${tree.flatMap(valueCases).join('\n')}
  esac
  case "$command" in
${tree.map(commandCase).join('\n')}
  esac
}
complete -o filenames -F _sluice sluice`
}

/** A script for `~/.zshrc`. */
export const zshScript = (tree: readonly CompletedCommand[]) =>
  `autoload -U +X compinit bashcompinit && compinit -u && bashcompinit
${bashScript(tree)}`

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`
const pattern = (texts: readonly string[]) => texts.map(quoted).join('|')
const words = (all: readonly string[]) => `_sluice_reply -W ${quoted(all.join(' '))} -- "$current"`
const files = '_sluice_reply -f -- "$current"'

/** What follows an option with a value. */
function valueCases({ path, options }: CompletedCommand): string[] {
  return options.flatMap(({ flags, value }) => {
    if (value === undefined) return []
    const reply = {
      words: () => words(value.is === 'words' ? value.words : []),
      files: () => files,
      text: () => ':',
    }
    return [`    ${pattern(flags.map((flag) => `${path} ${flag}`))}) ${reply[value.is]()}; return ;;`]
  })
}

function commandCase({ path, commands, options, argument }: CompletedCommand): string {
  const all = [...commands.map(({ name }) => name), ...flagsOf(options)]
  if (argument?.is === 'words') all.unshift(...argument.words)
  const other = argument?.is === 'files' ? `\n      [[ $current == -* ]] || ${files}` : ''
  return `    ${quoted(path)})\n      ${words(all)}${other} ;;`
}

/** Long options: a short one is for those who know it. */
const flagsOf = (options: readonly CompletedOption[]) =>
  options.flatMap(({ flags }) => flags.filter((flag) => flag.startsWith('--')))
