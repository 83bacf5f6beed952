/** Markdown for the generated pages. */

export const NOTICE = '<!-- Made from the source by `make generate`. -->'

/** A table; cells are Markdown, and `|` in them is escaped here. */
export function table(header: string[], rows: string[][]): string {
  const line = (cells: string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n')
}

/** Inline code; empty text stays empty. */
export function code(text: string): string {
  if (text === '') return ''
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``
}

/** A page of blocks that are separated by blank lines. */
export function page(blocks: string[]): string {
  return `${blocks.join('\n\n')}\n`
}
