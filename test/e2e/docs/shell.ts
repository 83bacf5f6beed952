/** Reads the shell commands of the documentation: words, quotes, pipes, substitutions. No more of the shell than they use. */

export interface Command {
  /** Without assignments before it and redirections. */
  words: string[]
  /** As it is written, for messages. */
  text: string
}

const SEPARATORS = ['&&', '||', ';', '|', '\n', '(', ')', '&'] as const

/** All commands of a script, those inside `$(…)` and `<(…)` too. A comment or a redirection is none. */
export function commandsOf(script: string): Command[] {
  const commands: Command[] = []
  let words: string[] = []
  let start = 0
  let at = 0
  const end = () => {
    const named = words.slice(words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word)))
    const isOnlyAssignments = words.every((word) => /^[A-Za-z_]\w*=/.test(word))
    if (words.length > 0 && !isOnlyAssignments)
      commands.push({ words: named, text: script.slice(start, at).trim() })
    words = []
  }
  while (at < script.length) {
    const rest = script.slice(at)
    const space = /^(?:[ \t]|\\\n)+/.exec(rest)?.[0]
    const comment = /^#[^\n]*/.exec(rest)?.[0]
    const separator = SEPARATORS.find((one) => rest.startsWith(one))
    const redirection = /^\d?>>?\s*\S+/.exec(rest)?.[0]
    if (space !== undefined) at += space.length
    else if (comment !== undefined) at += comment.length
    else if (redirection !== undefined) at += redirection.length
    else if (separator !== undefined) {
      // The next line continues a pipe.
      const isContinued = separator === '\n' && words.length === 0
      if (!isContinued) end()
      at += separator.length
      start = at
    } else {
      if (words.length === 0) start = at
      const { word, length, inner } = wordAt(rest)
      commands.push(...inner.flatMap(commandsOf))
      words.push(word)
      at += length
    }
  }
  end()
  return commands
}

/** A word without its quotes, and the scripts of the substitutions in it. */
function wordAt(text: string): { word: string; length: number; inner: string[] } {
  const inner: string[] = []
  let word = ''
  let at = 0
  let quote = ''
  while (at < text.length) {
    const rest = text.slice(at)
    const character = text[at] ?? ''
    const substitution = quote === "'" ? undefined : /^[$<]\(/.exec(rest)?.[0]
    if (substitution !== undefined) {
      const length = lengthOfParentheses(rest)
      inner.push(rest.slice(2, length - 1))
      word += 'substituted'
      at += length
    } else if (quote === '' && /[\s;|&()]/.test(character)) break
    else if (quote === '' && (character === '"' || character === "'")) {
      quote = character
      at++
    } else if (character === quote) {
      quote = ''
      at++
    } else if (character === '\\' && quote !== "'") {
      word += text[at + 1] === '\n' ? '' : (text[at + 1] ?? '')
      at += 2
    } else {
      word += character
      at++
    }
  }
  if (quote !== '') throw new Error(`a quote is not closed: ${text.slice(0, 60)}`)
  return { word, length: at, inner }
}

function lengthOfParentheses(text: string): number {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '(') depth++
    if (text[at] === ')' && --depth === 0) return at + 1
  }
  throw new Error(`a parenthesis is not closed: ${text.slice(0, 60)}`)
}
