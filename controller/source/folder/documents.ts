/** Parses YAML and JSON files into plain values with their positions. */
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
  /** Documents that are not valid YAML. */
  problems: Problem[]
  /** Text that kubectl would parse differently. */
  doubts: Problem[]
}

/**
 * kubectl reads YAML 1.1, in which unquoted yes, no, on and off are booleans (https://yaml.org/type/bool.html), so that
 * they are booleans here, too.
 */
const TRUTH: ScalarTag = {
  identify: (value) => typeof value === 'boolean',
  default: true,
  tag: 'tag:yaml.org,2002:bool',
  test: /^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE|off|Off|OFF)$/,
  resolve: (word) => /^(?:y|t|on)/i.test(word),
}

/** Splits a file into documents and skips empty ones. JSON is parsed as YAML. */
export function readDocuments(file: string, text: string): FileDocuments {
  const lines = new LineCounter()
  const documents: SourceDocument[] = []
  const problems: Problem[] = []
  const doubts: Problem[] = []
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  const trees = treesAgain(text)
  for (const [index, document] of treesOf(text, lines).entries()) {
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
      const offsetAt = (path: Path) => (path.length === 0 ? start : offsetOf(trees()[index], path))
      if (value !== null) documents.push({ file, value, locate: (path) => at(offsetAt(path) ?? start) })
    } catch {
      const message =
        'not valid YAML: an alias has no anchor, or aliases expand too much; put text that starts with * in quotes'
      problems.push({ file, ...at(document.range[0]), subject: undefined, message })
    }
  }
  return { documents, problems, doubts }
}

function treesOf(text: string, lineCounter?: LineCounter): Document.Parsed[] {
  const parsed = parseAllDocuments(text, {
    ...(lineCounter && { lineCounter }),
    // Pretty errors would quote the source, which may contain the value of a Secret.
    prettyErrors: false,
    customTags: (tags) => [TRUTH, ...tags],
  })
  return Array.isArray(parsed) ? parsed : []
}

/**
 * Parses a text when a position in it is wanted, which only faults need. The trees of a folder of 2 MB take 58 MB, so they are
 * kept for the other faults of the same reading at most.
 */
function treesAgain(text: string): () => Document.Parsed[] {
  let known: WeakRef<Document.Parsed[]> | undefined
  return () => {
    const before = known?.deref()
    if (before !== undefined) return before
    const trees = treesOf(text)
    for (const tree of trees) namesAsWritten(tree)
    known = new WeakRef(trees)
    return trees
  }
}

/** Turns field names that kubectl parses as booleans, such as an unquoted `on`, back into text, with advice for each. */
function namesAsWritten(document: Document.Parsed): { offset: number; message: string }[] {
  const doubts: { offset: number; message: string }[] = []
  visit(document, {
    Pair(_, { key }) {
      if (!isScalar(key) || typeof key.value !== 'boolean' || key.source === undefined) return
      const { value, source } = key
      key.value = source
      if (String(value) === source) return
      const message = `write "${source}" in quotes: kubectl reads an unquoted ${source} as ${value}`
      doubts.push({ offset: key.range?.[0] ?? 0, message })
    },
  })
  return doubts
}

/** Removes the source text at the end of some of the parser's messages. */
function withoutQuotes(message: string): string {
  return message.replace(/(?<=\S): .*$/s, '').replace(/^(Invalid escape sequence).*$/s, '$1 in double quotes')
}

/** Offset of the field at `path`: of its name in a mapping, of its value in a list. */
function offsetOf(document: Document.Parsed | undefined, path: Path): number | undefined {
  let node: unknown = document?.contents
  let offset = document?.contents?.range?.[0]
  for (const segment of path) {
    if (isAlias(node) && document !== undefined) node = node.resolve(document)
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
