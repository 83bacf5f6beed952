import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { runCommandLine } from '../command-line.ts'

const folder = mkdtempSync(join(tmpdir(), 'prices-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0

function write(text: string): string {
  const path = join(folder, `${files++}.yaml`)
  writeFileSync(path, text)
  return path
}

const route = (name: string, spec: string) => `apiVersion: sluice.dev/v1alpha1
kind: ModelRoute
metadata: { name: ${name} }
spec: { ${spec} }
---
`
const chat = (input: string, output: string) =>
  `{"mode": "chat", "input_cost_per_token": ${input}, "output_cost_per_token": ${output}}`
const LIST = write(`{
  "up": {"mode": "chat", "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05,
         "cache_read_input_token_cost": 1.25e-06, "input_cost_per_token_batches": 1e-06},
  "cheap": ${chat('1e-06', '2e-06')},
  "azure/both": ${chat('1e-06', '2e-06')},
  "eu/azure/both": ${chat('2e-06', '4e-06')},
  "azure/one": ${chat('3e-06', '6e-06')},
  "west/one": ${chat('3.0e-06', '0.000006')},
  "pixels": {"input_cost_per_pixel": 1e-08}
}`)

async function run(command: string, text: string, ...more: string[]) {
  const out: string[] = []
  const err: string[] = []
  const terminal = {
    env: {},
    width: undefined,
    print: (line: string) => void out.push(line),
    warn: (line: string) => void err.push(line),
  }
  const argv = ['prices', command, LIST, '-f', write(text), ...more]
  return { code: await runCommandLine(argv, terminal), out: out.join('\n'), err }
}

/** The finding of a route. */
async function found(spec: string) {
  const { out } = await run('import', route('r', spec), '-o', 'json')
  return JSON.parse(out).routes[0]
}

describe('an entry is found', () => {
  it.each([
    ['by the upstream model', 'model: cheap, channels: [{ name: c, model: up }]', 'unpriced', ['up']],
    [
      'by the model of the route',
      'model: cheap, channels: [{ name: c, model: other }]',
      'unpriced',
      ['cheap'],
    ],
    ['behind a provider', 'model: m, channels: [{ name: c, model: one }]', 'unpriced', ['azure/one']],
    ['for a wildcard', 'model: "x/*", channels: [{ name: c, model: up }]', 'unpriced', ['up']],
    [
      'twice, with different prices',
      'model: both, channels: [{ name: c }]',
      'ambiguous',
      ['azure/both', 'eu/azure/both'],
    ],
    [
      'for each channel',
      'model: m, channels: [{ name: c, model: up }, { name: d, model: cheap }]',
      'ambiguous',
      ['up', 'cheap'],
    ],
    ['not at all', 'model: m, channels: [{ name: c }]', 'unknown', []],
    ['not for any model', 'model: "*", channels: [{ name: c }]', 'unknown', []],
    ['without a price', 'model: pixels, channels: [{ name: c }]', 'unknown', []],
    ['for a free route, which is left alone', 'model: up, free: true, channels: [{ name: c }]', 'free', []],
  ])('%s', async (_how, spec, outcome, entries) => {
    const finding = await found(spec)
    expect(finding.outcome).toBe(outcome)
    expect(finding.offers.map(({ entry }: { entry: string }) => entry)).toEqual(entries)
  })

  it('and what is missing is named', async () => {
    expect((await found('model: m, channels: [{ name: c }]')).notes).toEqual(['the list does not have m'])
    expect(
      (await found('model: m, channels: [{ name: c, model: up }, { name: d, model: gone }]')).notes,
    ).toEqual(['the list does not have gone, which a channel serves'])
    expect((await found('model: pixels, channels: [{ name: c }]')).notes).toEqual([
      'pixels: no counterpart: input_cost_per_pixel',
      'pixels has no usable price',
    ])
  })
})

describe('a comparison', () => {
  const priced = (price: string, model = 'up') =>
    `model: ${model}, channels: [{ name: c }], price: { ${price} }`

  it('finds the same prices however they are written', async () => {
    const finding = await found(priced('input: "2.50", output: "10.0", cachedInput: "1.25"'))
    expect(finding).toMatchObject({ outcome: 'same', offers: [{ changes: [] }] })
  })

  it('knows what the gateway charges where a field is absent', async () => {
    const finding = await found(priced('input: "2.5", output: "10"'))
    expect(finding.outcome).toBe('differs')
    expect(finding.offers[0].changes).toEqual([{ field: 'cachedInput', from: '2.5', to: '1.25' }])
  })

  it('is the same if one of several entries has the prices of the route', async () => {
    const finding = await found(priced('input: "2", output: "4"', 'both'))
    expect(finding).toMatchObject({ outcome: 'same', offers: [{ entry: 'eu/azure/both' }] })
  })

  it('keeps the prices that only the route has', async () => {
    const own =
      'input: "2", output: "10", cachedInput: "1.25", perRequest: "0.1", perCall: { webSearch: "0.01" }'
    const { changes, kept, block } = (await found(priced(own))).offers[0]
    expect(changes).toEqual([{ field: 'input', from: '2', to: '2.5' }])
    expect(kept).toEqual(['perRequest', 'perCall.webSearch'])
    expect(block).toEqual({
      ...{ input: '2.5', cachedInput: '1.25', output: '10', perRequest: '0.1' },
      perCall: { webSearch: '0.01' },
    })
  })
})

const ROUTES = [
  route('a', 'model: up, channels: [{ name: c }]'),
  route('b', 'model: cheap, channels: [{ name: c }], price: { input: "1", output: "3" }'),
  route('d', 'model: both, channels: [{ name: c }]'),
  route('e', 'model: cheap, channels: [{ name: c }], price: { input: "1", output: "2" }'),
].join('')

describe('import', () => {
  it('prints blocks with the difference as YAML', async () => {
    const { code, out, err } = await run('import', ROUTES)
    expect([code, err]).toEqual([0, []])
    expect(out).toBe(`# ModelRoute default/a, model up: has no price yet
#   entry up
#   input none -> 2.5
#   cachedInput none -> 1.25
#   output none -> 10
#   up: no counterpart: input_cost_per_token_batches
price:
  input: "2.5"
  cachedInput: "1.25"
  output: "10"
---
# ModelRoute default/b, model cheap: differs from the list
#   entry cheap
#   output 3 -> 2
price:
  input: "1"
  output: "2"
# ModelRoute default/d, model both: several entries fit, with different prices; choose one
#   entry azure/both: input 1, output 2
#   entry eu/azure/both: input 2, output 4
# ModelRoute default/e, model cheap: has the listed prices
#   entry cheap`)
    expect(parseAllDocuments(out).map((document) => document.toJS())).toEqual([
      { price: { input: '2.5', cachedInput: '1.25', output: '10' } },
      { price: { input: '1', output: '2' } },
    ])
  })

  it('prints a table', async () => {
    const { code, out } = await run('import', ROUTES, '-o', 'table')
    expect(code).toBe(0)
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['ROUTE', 'MODEL', 'RESULT', 'ENTRY', 'CHANGES'],
      ['default/a', 'up', 'unpriced', 'up', 'input none -> 2.5, cachedInput none -> 1.25, output none -> 10'],
      ['default/b', 'cheap', 'differs', 'cheap', 'output 3 -> 2'],
      ['default/d', 'both', 'ambiguous', 'azure/both', 'input none -> 1, output none -> 2'],
      ['default/d', 'both', 'ambiguous', 'eu/azure/both', 'input none -> 2, output none -> 4'],
      ['default/e', 'cheap', 'same', 'cheap', '-'],
      ['default/a: up: no counterpart: input_cost_per_token_batches'],
    ])
  })

  it.each([
    ['kind: ModelRoute', /ModelRoute|apiVersion|metadata/],
    [route('r', 'model: m, channels: []'), /ModelRoute\/r/],
    ['', /there is no ModelRoute in /],
  ])('prints one line and nothing else for routes such as %j', async (text, message) => {
    const { code, out, err } = await run('import', text)
    expect([code, out, err.length]).toEqual([1, '', 1])
    expect(err[0]).toMatch(/^sluice prices import: /)
    expect(err[0]).toMatch(message)
  })
})

it.each([
  ['differs', route('r', 'model: cheap, channels: [{ name: c }], price: { input: "1", output: "3" }'), 1],
  ['has no price', route('r', 'model: cheap, channels: [{ name: c }]'), 1],
  ['has the price of no entry', route('r', 'model: both, channels: [{ name: c }]'), 1],
  ['agrees', route('r', 'model: cheap, channels: [{ name: c }], price: { input: "1", output: "2" }'), 0],
  ['is free', route('r', 'model: cheap, channels: [{ name: c }], free: true'), 0],
  ['is not in the list', route('r', 'model: m, channels: [{ name: c }]'), 0],
])('check of a route that %s ends with the exit code', async (_what, text, expected) => {
  const { code, out, err } = await run('check', text)
  expect([code, err]).toEqual([expected, []])
  expect(out).toContain('default/r')
})

it('a block fits under spec of the route', async () => {
  const { out } = await run('import', route('r', 'model: up, channels: [{ name: c }]'))
  const { price } = parse(out)
  const priced = route('r', `model: up, channels: [{ name: c }], price: ${JSON.stringify(price)}`)
  expect((await run('check', priced)).code).toBe(0)
})
