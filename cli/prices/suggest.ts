/** `sluice prices suggest`: a price block from the catalogue, with its date and source. */
import { nearest } from '../../kit/nearest.ts'
import { CommandFailure, json, type Tool } from '../command.ts'
import { plain } from '../table.ts'
import { yamlOf } from './block.ts'
import { CATALOGUE, type Known } from './catalogue.ts'

interface SuggestOptions {
  /** The model. */
  args: string[]
  output: 'yaml' | 'json'
}

export const suggest: Tool<SuggestOptions> = async ({ args, output }, terminal) => {
  const [model = ''] = args
  const known = CATALOGUE.find(({ names }) => names.includes(model))
  if (known === undefined) throw new CommandFailure(unknownText(model))
  if (output === 'json') {
    const { price, date, source, vendor, quoted } = known
    terminal.print(json({ model, vendor, date, source, quoted, price }))
  } else terminal.print([...commentsOf(model, known), yamlOf(known.price)].join('\n'))
  return 0
}

function commentsOf(model: string, { vendor, date, source, quoted }: Known): string[] {
  const from = quoted ? `as others quoted ${source}` : `from a copy of ${source}`
  return [
    `# ${model}: list price of ${vendor}, read on ${date} ${from}`,
    '# It may have changed: compare it with that page. Put it under spec of the ModelRoute.',
  ]
}

function unknownText(model: string): string {
  const names = CATALOGUE.flatMap((known) => known.names)
  const close = nearest(model, names)
  const hint = close === undefined ? '' : `; did you mean ${close}?`
  const other =
    'Take the price from the page of its vendor, or from a price list: sluice prices import --help'
  return plain(`the catalogue does not have ${model}${hint || '.'} ${other}`)
}
