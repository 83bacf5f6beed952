/** The values that the documentation shows: the chart accepts each of them, and each does something. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { ROOT } from '../harness/program.ts'
import { CHART, render } from './helm.ts'

const mapping = z.record(z.string(), z.unknown())
const values = Object.keys(mapping.parse(parse(readFileSync(join(CHART, 'values.yaml'), 'utf8'))))

/** Indented blocks of a page, those in lists too, whose keys are all values of the chart. */
function blocksOf(page: string): { line: number; values: Record<string, unknown> }[] {
  const lines = readFileSync(join(ROOT, 'docs', page), 'utf8').split('\n')
  const blocks: { line: number; text: string }[] = []
  for (const [index, text] of lines.entries()) {
    const isCode = /^(?: {4}|$)/.test(text) && !/^ {4,}helm |^ {4,}kubectl /.test(text)
    const last = blocks.at(-1)
    if (!isCode) blocks.push({ line: index + 2, text: '' })
    else if (last !== undefined) last.text += `${text}\n`
  }
  return blocks.flatMap(({ line, text }) => {
    try {
      const block = mapping.parse(parse(text))
      return Object.keys(block).every((key) => values.includes(key)) ? [{ line, values: block }] : []
    } catch {
      return []
    }
  })
}

describe.each([
  ['install.md', ['redis', 'networkPolicy', 'autoscaling', 'monitoring', 'proxy']],
  ['ingress.md', ['ingress', 'httpRoute', 'trustedProxies']],
])('%s', (page, expected) => {
  const blocks = blocksOf(page)

  it('shows values of these kinds', () => {
    const shown = new Set(blocks.flatMap((block) => Object.keys(block.values)))
    expect(expected.filter((name) => !shown.has(name))).toEqual([])
  })

  it.each(blocks)('line $line', async (block) => {
    const plain = await render()
    const objects = await render(block.values)
    // Generated passwords differ each time.
    const named = (all: typeof plain) => JSON.stringify(all.filter(({ kind }) => kind !== 'Secret'))
    expect(named(objects)).not.toBe(named(plain))
  })
})
