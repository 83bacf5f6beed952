import { describe, expect, it } from 'vitest'
import { CommandFailure } from '../command.ts'
import { convert } from './convert.ts'
import { parsePriceList, readPriceList } from './price-list.ts'

/** What becomes of one entry. The text is the file's, because JSON numbers are the point. */
function converted(fields: string) {
  const entry = parsePriceList(`{"m": {${fields}}}`, 'p.json').get('m')
  if (entry === undefined) throw new Error('no entry')
  return convert(entry)
}
const TEXT = '"input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05'
const BASE = { input: '2.5', output: '10' }

describe('an entry', () => {
  it('becomes a block with every kind of token', () => {
    const { block, notes } =
      converted(`${TEXT}, "mode": "chat", "max_tokens": 4096, "litellm_provider": "openai",
      "cache_read_input_token_cost": 1.25e-06, "cache_creation_input_token_cost": 3.125e-06,
      "cache_creation_input_token_cost_above_1hr": 5e-06, "input_cost_per_audio_token": 4e-05,
      "output_cost_per_audio_token": 8e-05, "output_cost_per_reasoning_token": 1.2e-05,
      "input_cost_per_image_token": 3e-06, "input_cost_per_request": 0.005, "file_search_cost_per_1k_calls": 2.5`)
    expect(block).toEqual({
      ...{ ...BASE, cachedInput: '1.25', cacheWrite: '3.125', cacheWriteLong: '5', audioInput: '40' },
      ...{ audioOutput: '80', reasoning: '12', imageInput: '3', perRequest: '0.005' },
      perCall: { fileSearch: '0.0025' },
    })
    expect(notes).toEqual([])
  })

  it('has the prices of long prompts; what is not raised keeps its price', () => {
    const { block, notes } = converted(`${TEXT}, "cache_read_input_token_cost": 2.5e-07,
      "input_cost_per_token_above_272k_tokens": 5e-06, "output_cost_per_token_above_272k_tokens": 1.5e-05,
      "input_cost_per_token_above_128k_tokens": 3e-06,
      "cache_creation_input_token_cost_above_1hr_above_272k_tokens": 9e-06`)
    expect(block?.above).toEqual([
      { tokens: 128_000, input: '3', output: '10', cachedInput: '0.25' },
      { tokens: 272_000, input: '5', output: '15', cachedInput: '0.25', cacheWriteLong: '9' },
    ])
    expect(notes).toEqual([])
  })

  it('names what has no counterpart, but not what costs nothing', () => {
    const { block, notes } =
      converted(`${TEXT}, "input_cost_per_token_batches": 1.25e-06, "output_cost_per_pixel": 0.0,
      "search_context_cost_per_query": {"search_context_size_low": 0.03},
      "provider_specific_entry": {"us": 1.1}, "code_interpreter_cost_per_session": 0.03`)
    expect(block).toEqual(BASE)
    expect(notes).toEqual([
      'no counterpart: code_interpreter_cost_per_session, input_cost_per_token_batches, ' +
        'provider_specific_entry, search_context_cost_per_query',
    ])
  })

  it('has the factor of a tier that raises all prices alike', () => {
    const { block, notes } = converted(`${TEXT}, "input_cost_per_token_priority": 4.375e-06,
      "output_cost_per_token_priority": 1.75e-05, "input_cost_per_token_flex": 1.25e-06,
      "output_cost_per_token_flex": 6e-06`)
    expect(block).toEqual({ ...BASE, multipliers: { priority: '1.75' } })
    expect(notes).toEqual(['no counterpart: input_cost_per_token_flex, output_cost_per_token_flex'])
    const partial = converted(`${TEXT}, "cache_read_input_token_cost": 1e-06,
      "input_cost_per_token_flex": 1.25e-06, "output_cost_per_token_flex": 5e-06`)
    expect(partial.block).not.toHaveProperty('multipliers')
  })

  it('is rounded up where a price has too many decimals', () => {
    const { block, notes } = converted(
      '"input_cost_per_token": 1.33333333333333e-07, "output_cost_per_token": 0',
    )
    expect(block).toEqual({ input: '0.133333334', output: '0' })
    expect(notes).toEqual(['input_cost_per_token is 0.133333333333333, rounded up to 0.133333334'])
  })

  it('of images has a price for each only where tokens have none', () => {
    const image = '"mode": "image_generation", "output_cost_per_image": 0.04'
    expect(converted(image)).toEqual({ block: { perImage: '0.04' }, notes: [] })
    expect(converted(`${image}, ${TEXT}`)).toEqual({
      block: BASE,
      notes: ['no counterpart: output_cost_per_image'],
    })
  })

  it('of embeddings needs no price of output', () => {
    expect(converted('"mode": "embedding", "input_cost_per_token": 2e-08').block).toEqual({
      input: '0.02',
      output: '0',
    })
  })

  it.each([
    ['"input_cost_per_token": 1e-06', ['the entry has no price of output tokens']],
    ['"output_cost_per_token": 1e-06', ['the entry has no price of input tokens']],
    ['"input_cost_per_second": 0.0001', ['no counterpart: input_cost_per_second']],
    ['"input_cost_per_token": null, "mode": "chat"', []],
    [
      '"input_cost_per_token": 10, "output_cost_per_token": 1e-06',
      [
        'input_cost_per_token is more than 9000000 dollars',
        'no counterpart: input_cost_per_token',
        'the entry has no price of input tokens',
      ],
    ],
  ])('with %s has no usable price', (fields, notes) => {
    const { block, notes: given } = converted(fields)
    expect(block).toBeUndefined()
    expect(given.toSorted()).toEqual(notes.toSorted())
  })
})

it.each([
  ['{', 'p.json is not JSON'],
  ['', 'p.json is not JSON'],
  ['[]', 'p.json is not a price list: it must be one JSON object'],
  ['7', 'p.json is not a price list: it must be one JSON object'],
  ['{}', 'p.json is not a price list: it names no model'],
  ['{"sample_spec": {}}', 'p.json is not a price list: it names no model'],
  ['{"gpt": 3}', 'p.json: entry "gpt": it must be an object'],
  ['{"gpt": {"mode": 3}}', 'p.json: entry "gpt": mode must be text'],
  ...['"0.1"', 'true', '{}', '-1e-06', '1e9999'].map((value) => [
    `{"ok": {}, "g\\npt": {"input_cost_per_token": ${value}}}`,
    'p.json: entry "g\\npt": "input_cost_per_token" must be a number, not below 0',
  ]),
])('refuses %s in one line', (content = '', message = '') => {
  expect(() => parsePriceList(content, 'p.json')).toThrow(new CommandFailure(message))
  expect(message).not.toContain('\n')
})

it('ignores the sample, whose values are text', () => {
  const list = parsePriceList('{"sample_spec": {"input_cost_per_token": "0.0"}, "m": {}}', 'p.json')
  expect([...list.keys()]).toEqual(['m'])
})

it('refuses a file that is not there', async () => {
  await expect(readPriceList('/nowhere/p.json')).rejects.toThrow('/nowhere/p.json cannot be read (ENOENT)')
})
