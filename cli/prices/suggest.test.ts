import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { KINDS } from '../../contract/api/index.ts'
import { runCommandLine } from '../command-line.ts'
import { CATALOGUE } from './catalogue.ts'

async function suggest(...argv: string[]) {
  const out: string[] = []
  const err: string[] = []
  const terminal = {
    env: {},
    width: undefined,
    print: (line: string) => void out.push(line),
    warn: (line: string) => void err.push(line),
  }
  return { code: await runCommandLine(['prices', 'suggest', ...argv], terminal), out: out.join('\n'), err }
}

it('prints a block with its date and source', async () => {
  const { code, out, err } = await suggest('claude-haiku-4-5')
  expect([code, err]).toEqual([0, []])
  expect(
    out,
  ).toBe(`# claude-haiku-4-5: list price of Anthropic, read on 2026-11-23 from a copy of https://platform.claude.com/docs/en/about-claude/pricing
# It may have changed: compare it with that page. Put it under spec of the ModelRoute.
price:
  input: "1"
  cachedInput: "0.1"
  cacheWrite: "1.25"
  cacheWriteLong: "2"
  output: "5"`)
})

it('names prices that were read from others', async () => {
  expect((await suggest('gpt-4o')).out).toContain(
    'as others quoted https://developers.openai.com/api/docs/pricing',
  )
})

it('prints JSON', async () => {
  expect(JSON.parse((await suggest('gpt-4', '-o', 'json')).out)).toEqual({
    ...{ model: 'gpt-4', vendor: 'OpenAI', date: '2026-11-23', quoted: false },
    source: 'https://developers.openai.com/api/docs/models/gpt-4',
    price: { input: '30', output: '60' },
  })
})

it.each([
  ['gpt-4o-mni', 'does not have gpt-4o-mni; did you mean gpt-4o-mini?'],
  ['my-own-model', 'does not have my-own-model. Take the price from the page of its vendor'],
])('%s is not guessed', async (model, message) => {
  const { code, out, err } = await suggest(model)
  expect([code, out, err.length]).toEqual([1, '', 1])
  expect(err[0]).toContain(message)
})

it('every block is a valid price of a route, with a date and a source', async () => {
  const names = CATALOGUE.flatMap((known) => known.names)
  expect(new Set(names).size).toBe(names.length)
  for (const { names, date, source } of CATALOGUE) {
    expect(date).toMatch(/^20[0-9]{2}-[01][0-9]-[0-3][0-9]$/)
    expect(source).toMatch(/^https:/)
    const { price } = parse((await suggest(names[0] ?? '')).out)
    const spec = { model: 'm', channels: [{ name: 'c' }], price }
    expect(KINDS.ModelRoute.spec.safeParse(spec).error).toBeUndefined()
  }
})
