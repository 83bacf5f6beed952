/** Settings from docs/clients.md: its indented blocks. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../harness/program.ts'

const ADDRESS = 'http://localhost:8080'

/** The first block of a section, with the gateway's address. Throws if it contains no address. */
export function settings(section: string, base: string): string {
  const page = readFileSync(join(ROOT, 'docs/clients.md'), 'utf8')
  const [, text = ''] = page.split(new RegExp(`^## ${section}$`, 'm'))
  const [own = ''] = text.split(/^## /m)
  const [block = ''] = /(?:^ {4}.*\n|^\n(?= {4}))+/m.exec(own) ?? []
  if (!block.includes(ADDRESS)) throw new Error(`docs/clients.md, ${section}: the settings name no address`)
  return block.replace(/^ {4}/gm, '').replace(ADDRESS, base).trim()
}
