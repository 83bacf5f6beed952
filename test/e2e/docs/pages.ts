/** The pages of the documentation, their code blocks and their inline commands. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../harness/program.ts'
import { type Command, commandsOf } from './shell.ts'

export interface Block {
  /** Page, heading and, from the second on, its number below this heading: `docs/cli.md#sluice-usage`. */
  name: string
  /** Of a fence; empty for an indented block. */
  language: string
  text: string
  commands: Command[]
}

/** A command in backticks. Placeholders stand in place of values. */
export interface Inline {
  where: string
  text: string
}

/** Programs whose commands the documentation shows. */
const PROGRAMS =
  'sluice|make|kubectl|helm|docker|curl|node|vitest|npm|apt-get|systemctl|redis-cli|printf|echo|mkdir|chmod|cp|cd|export|source'
const STARTS = new RegExp(`^(?:\\(|\\. |[A-Za-z_]\\w*="?\\$\\(|(?:${PROGRAMS}) )`)
/** Without the changelog, which tells of commands of earlier versions. */
export const pageNames = (): string[] =>
  globSync(['*.md', '{docs,examples,helm}/**/*.md'], { cwd: ROOT })
    .filter((name) => name !== 'CHANGELOG.md')
    .sort()

const slug = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .trim()
    .replaceAll(' ', '-')

/** All code blocks of a page, in their order. */
export function blocksOf(page: string): Block[] {
  const lines = readFileSync(join(ROOT, page), 'utf8').split('\n')
  const blocks: Block[] = []
  const counts = new Map<string, number>()
  let heading = ''
  const add = (language: string, text: string) => {
    const where = `${page}#${heading}`
    const count = (counts.get(where) ?? 0) + 1
    counts.set(where, count)
    const isShell = ['', 'sh', 'bash', 'shell'].includes(language)
    const commands = isShell ? scriptsOf(text).flatMap(commandsOf) : []
    blocks.push({ name: count === 1 ? where : `${where}-${count}`, language, text, commands })
  }
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const fence = /^( *)```(\w*)$/.exec(line)
    const [, title] = /^#+ (.*)$/.exec(line) ?? []
    if (title !== undefined) heading = slug(title)
    else if (fence !== null) {
      const [, indent = '', language = ''] = fence
      const end = lines.indexOf(`${indent}\`\`\``, at + 1)
      if (end === -1) throw new Error(`${page}:${at + 1}: the fence does not end`)
      add(language, lines.slice(at + 1, end).join('\n'))
      at = end
    } else if (/^ {4,}\S/.test(line) && (at === 0 || lines[at - 1] === '')) {
      let end = at
      while (end < lines.length && /^( {4,}\S|$)/.test(lines[end] ?? '')) end++
      const own = lines.slice(at, end)
      const indent = Math.min(...own.filter((one) => one !== '').map((one) => one.search(/\S/)))
      add(
        '',
        own
          .map((one) => one.slice(indent))
          .join('\n')
          .trimEnd(),
      )
      at = end - 1
    }
  }
  return blocks
}

/** The parts of a block that are commands: after each `$`, or paragraphs that begin with a program. */
export function scriptsOf(text: string): string[] {
  const prompts = [...text.matchAll(/^\$ ((?:.*\\\n)*.*)$/gm)].map(([, script = '']) => script)
  if (prompts.length > 0) return prompts
  return text.split(/\n\n+/).filter((part) => STARTS.test(part.replace(/^(#.*\n)+/, '')))
}

/** Commands in backticks that have at least a subcommand. */
export function inlineOf(page: string): Inline[] {
  const text = readFileSync(join(ROOT, page), 'utf8').replace(/^( *)```.*?^\1```$/gms, '')
  return text.split('\n').flatMap((line, index) =>
    /^ {4,}/.test(line)
      ? []
      : [...line.matchAll(/`((?:sluice|make|kubectl|helm|docker|node|vitest) [^`]+)`/g)].map(
          ([, command = '']) => ({
            where: `${page}:${index + 1}`,
            text: command.replaceAll('\\|', '|'),
          }),
        ),
  )
}
