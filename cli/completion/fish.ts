/** Completion for fish. */
import type { CompletedCommand, CompletedOption, Value } from './tree.ts'

/** A script for `~/.config/fish/completions/sluice.fish`. */
export function fishScript(tree: readonly CompletedCommand[]): string {
  const paths = tree.map(({ path }) => path).filter((path) => path !== '')
  return `# Completion of sluice for fish; made by: sluice completion fish
function __sluice_command
    set -l path
    for word in (commandline -opc)[2..]
        contains -- (string join -- ' ' $path $word) ${paths.map(quoted).join(' ')}; and set path $path $word
    end
    string join -- ' ' $path
end
complete -c sluice -f
${tree.flatMap(linesOf).join('\n')}`
}

const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

function linesOf({ path, commands, options, argument }: CompletedCommand): string[] {
  const when = `complete -c sluice -n ${quoted(`test "$(__sluice_command)" = "${path}"`)}`
  return [
    ...commands.map(({ name, about }) => `${when} -a ${name} -d ${quoted(about)}`),
    ...options.map((option) => `${when} ${optionOf(option)}`),
    ...(argument === undefined || argument.is === 'text' ? [] : [`${when} ${valueFor(argument)}`]),
  ]
}

function optionOf({ flags, about, value }: CompletedOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
  const takes = value === undefined ? [] : [value.is === 'files' ? '-r' : '-x', valueFor(value)]
  return [...names, ...takes, `-d ${quoted(about)}`].filter((part) => part !== '').join(' ')
}

function valueFor(value: Value): string {
  switch (value.is) {
    case 'words':
      return `-a ${quoted(value.words.join(' '))}`
    case 'files':
      return '-F'
    case 'text':
      return ''
  }
}
