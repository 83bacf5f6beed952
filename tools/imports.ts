/** Finds the modules that a TypeScript source imports: static, type-only, re-exported and dynamic imports. */

interface Import {
  specifier: string
  /** First line is 1. */
  line: number
}

/**
 * Pieces of source text, in the order in which they are tried. The scanner must separate comments, strings and regular
 * expressions, because each may contain text that looks like another.
 */
const PIECES = new RegExp(
  [
    String.raw`(?<comment>//[^\n]*|/\*[^]*?\*/)`,
    String.raw`(?<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")`,
    String.raw`(?<regex>/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*)`,
    String.raw`(?<word>[\w$]+)`,
    String.raw`(?<sign>\S)`,
  ].join('|'),
  'gy',
)

/** After these words a slash begins a regular expression, not a division. */
const BEFORE_REGEX = new Set([
  'return',
  'case',
  'typeof',
  'in',
  'of',
  'do',
  'else',
  'void',
  'delete',
  'await',
  'yield',
])

export function importsOf(source: string): Import[] {
  const found: Import[] = []
  let last = ''
  let beforeLast = ''
  // Depth of braces in each template literal that is open: at zero, a brace ends its ${…}.
  const templates: number[] = []
  let at = 0

  const advance = (piece: string) => {
    beforeLast = last
    last = piece
  }
  const isValueEnd = () => /^([\w$]|[)\]}'"`])/.test(last.slice(-1)) && !BEFORE_REGEX.has(last)

  while (at < source.length) {
    if (/\s/.test(source.charAt(at))) {
      at++
      continue
    }
    PIECES.lastIndex = at
    const match = PIECES.exec(source)
    const { comment, text, regex, word, sign = '' } = match?.groups ?? {}
    const length = match?.[0].length ?? 1
    if (comment !== undefined) at += length
    else if (text !== undefined) {
      if (last === 'from' || last === 'import' || (last === '(' && beforeLast === 'import'))
        found.push({ specifier: text.slice(1, -1), line: lineOf(source, at) })
      advance(text)
      at += length
    } else if (regex !== undefined && !isValueEnd()) {
      advance(regex)
      at += length
    } else if (word !== undefined) {
      advance(word)
      at += length
    } else {
      const character = regex !== undefined ? '/' : sign
      at++
      const depth = templates.at(-1)
      if (character === '`' || (character === '}' && depth === 0)) {
        if (character === '}') templates.pop()
        const end = endOfTemplateText(source, at)
        if (source.startsWith('${', end)) templates.push(0)
        at = end + (source.startsWith('${', end) ? 2 : 1)
        advance(source.startsWith('${', end) ? '{' : '`')
        continue
      }
      if (depth !== undefined && character === '{') templates[templates.length - 1] = depth + 1
      if (depth !== undefined && character === '}') templates[templates.length - 1] = depth - 1
      advance(character)
    }
  }
  return found
}

/** Where the literal text of a template ends: at its closing backtick or at the next `${`. */
function endOfTemplateText(source: string, from: number): number {
  let at = from
  while (at < source.length && source[at] !== '`' && !source.startsWith('${', at))
    at += source[at] === '\\' ? 2 : 1
  return at
}

function lineOf(source: string, at: number): number {
  return source.slice(0, at).split('\n').length
}
