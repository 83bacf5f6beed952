/** Every relative link of the documentation leads to an existing file and heading. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const git = ['ls-files', '--cached', '--others', '--exclude-standard', '*.md']
const pages = new Map(
  execFileSync('git', git, { cwd: ROOT, encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((page) => [page, readFileSync(join(ROOT, page), 'utf8').replace(/^```.*?^```/gms, '')]),
)

/** GitHub's name of a heading. */
const anchor = (heading: string) =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')

function leads(page: string, link: string): boolean {
  const [path = '', heading] = link.split('#')
  const target = path === '' ? page : normalize(join(dirname(page), path))
  if (!existsSync(join(ROOT, target))) return false
  const headings = [...(pages.get(target) ?? '').matchAll(/^#+ (.*)$/gm)].map(([, text = '']) => anchor(text))
  return heading === undefined || !pages.has(target) || headings.includes(heading)
}

it.each([...pages].filter(([page]) => !page.startsWith('test/')))('%s', (page, text) => {
  // Not inside inline code, where brackets may be a pattern.
  const links = [...text.replace(/`[^`\n]*`/g, '').matchAll(/\]\((?!https?:)([^)\s]+)\)/g)]
  expect(links.map(([, link = '']) => link).filter((link) => !leads(page, link))).toEqual([])
})
