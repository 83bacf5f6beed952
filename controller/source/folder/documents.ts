/** Text of a YAML or JSON file to plain values that still know where they stood. */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  type ScalarTag,
  visit,
} from 'yaml'
import type { Path } from '../explain.ts'
import type { Problem } from './problem.ts'

/** One document of a file, as plain JSON-like data. */
export interface SourceDocument {
  file: string
  value: unknown
  /** Line and column, from 1, of the field at `path`, or of the deepest part of the path that exists. */
  locate(path: Path): { line: number; column: number }
}

export interface FileDocuments {
  documents: SourceDocument[]
  /** Documents that are no YAML: what they would have said is not known. */
  problems: Problem[]
  /** What is read here as it was meant, and is something else to kubectl. */
  doubts: Problem[]
}

/**
 * kubectl reads YAML 1.1, in which yes, no, on and off are truth values (https://yaml.org/type/bool.html): where they
 * stand bare they are here too.
 */
const TRUTH: ScalarTag = {
  identify: (value) => typeof value === 'boolean',
  default: true,
  tag: 'tag:yaml.org,2002:bool',
  test: /^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE|off|Off|OFF)$/,
  resolve: (word) => /^(?:y|t|on)/i.test(word),
}

/** Splits a file into documents; empty ones are left out. JSON is read as the YAML that it is. */
export function readDocuments(file: string, text: string): FileDocuments {
  const lines = new LineCounter()
  const documents: SourceDocument[] = []
  const problems: Problem[] = []
  const doubts: Problem[] = []
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  // prettyErrors would quote the source, and with it a Secret's value.
  const parsed = parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    customTags: (tags) => [TRUTH, ...tags],
  })
  for (const document of Array.isArray(parsed) ? parsed : []) {
    const [error] = document.errors
    if (error !== undefined) {
      problems.push({
        file,
        ...at(error.pos[0]),
        subject: undefined,
        message: `not valid YAML: ${withoutQuotes(error.message)}`,
      })
      continue
    }
    for (const { offset, message } of namesAsWritten(document))
      doubts.push({ file, ...at(offset), subject: undefined, message })
    try {
      const value: unknown = document.toJS()
      const start = document.contents?.range?.[0] ?? document.range[0]
      if (value !== null)
        documents.push({ file, value, locate: (path) => at(offsetOf(document, path) ?? start) })
    } catch {
      const message =
        'not valid YAML: an alias names no anchor, or aliases multiply too far; put text that starts with * in quotes'
      problems.push({ file, ...at(document.range[0]), subject: undefined, message })
    }
  }
  return { documents, problems, doubts }
}

/** Makes names that are truth values to kubectl, such as a bare `on`, text again, and says of each what to write. */
function namesAsWritten(document: Document.Parsed): { offset: number; message: string }[] {
  const doubts: { offset: number; message: string }[] = []
  visit(document, {
    Pair(_, { key }) {
      if (!isScalar(key) || typeof key.value !== 'boolean' || key.source === undefined) return
      const { value, source } = key
      key.value = source
      if (String(value) === source) return
      const message = `write "${source}" in quotes: to kubectl a bare ${source} is the word ${value}`
      doubts.push({ offset: key.range?.[0] ?? 0, message })
    },
  })
  return doubts
}

/** The parser's reason without the piece of source that some reasons end with. */
function withoutQuotes(message: string): string {
  return message.replace(/(?<=\S): .*$/s, '').replace(/^(Invalid escape sequence).*$/s, '$1 in double quotes')
}

/** Where the field at `path` begins: its name in a mapping, its value in a list. */
function offsetOf(document: Document.Parsed, path: Path): number | undefined {
  let node: unknown = document.contents
  let offset = document.contents?.range?.[0]
  for (const segment of path) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(segment))
      if (pair === undefined) break
      if (isNode(pair.key)) offset = pair.key.range?.[0] ?? offset
      node = pair.value
    } else if (isSeq(node) && typeof segment === 'number') {
      node = node.items[segment]
      if (isNode(node)) offset = node.range?.[0] ?? offset
    } else break
  }
  return offset
}
