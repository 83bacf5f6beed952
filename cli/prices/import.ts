/** `sluice prices import` and `check`: the prices of a list beside those of the routes. */
import { json, type Terminal, type Tool } from '../command.ts'
import { plain, table } from '../table.ts'
import { type Change, fieldsOf, merged, yamlOf } from './block.ts'
import { compare, type Finding, type Offer, type Outcome } from './compare.ts'
import type { PriceBlock } from './convert.ts'
import { readPriceList } from './price-list.ts'
import { type PricedRoute, type RouteOptions, readRoutes } from './routes.ts'

interface PricesOptions extends RouteOptions {
  /** The price list. */
  args: string[]
  output: 'table' | 'yaml' | 'json'
}

const WORDS: Record<Outcome, string> = {
  same: 'has the listed prices',
  differs: 'differs from the list',
  unpriced: 'has no price yet',
  ambiguous: 'several entries fit, with different prices; choose one',
  unknown: 'no price in the list',
  free: 'is free; remove spec.free to give it a price',
}
/** What `check` fails for. */
const WRONG: readonly Outcome[] = ['differs', 'unpriced', 'ambiguous']

export const importPrices: Tool<PricesOptions> = async (options, terminal) => {
  show(await findingsOf(options, terminal), options.output, terminal)
  return 0
}

export const checkPrices: Tool<PricesOptions> = async (options, terminal) => {
  const findings = await findingsOf(options, terminal)
  show(findings, options.output, terminal)
  return findings.some(({ outcome }) => WRONG.includes(outcome)) ? 1 : 0
}

/** A finding with the block that the route would have. */
type Shown = Omit<Finding, 'offers'> & { offers: (Offer & { block: PriceBlock })[] }

/** Reads everything before anything is printed, so that a bad file prints nothing. */
async function findingsOf(options: PricesOptions, terminal: Terminal): Promise<Shown[]> {
  const [path = ''] = options.args
  const list = await readPriceList(path)
  const routes = await readRoutes(options, terminal)
  const prices = new Map(routes.map(({ id, price }: PricedRoute) => [id, price]))
  return compare(routes, list).map((finding) => ({
    ...finding,
    offers: finding.offers.map((offer) => ({
      ...offer,
      block: merged(prices.get(finding.route), offer.price),
    })),
  }))
}

function show(findings: readonly Shown[], output: PricesOptions['output'], terminal: Terminal): void {
  if (output === 'json') terminal.print(json({ routes: findings }))
  else if (output === 'yaml') terminal.print(yamlText(findings))
  else showTable(findings, terminal)
}

function showTable(findings: readonly Shown[], terminal: Terminal): void {
  const rows = findings.flatMap(rowsOf)
  terminal.print(table(['route', 'model', 'result', 'entry', 'changes'], rows, terminal.width))
  for (const { route, notes, offers } of findings)
    for (const note of [...notes, ...offers.flatMap(notesOf)]) terminal.print(plain(`${route}: ${note}`))
}

function rowsOf({ route, model, outcome, offers }: Shown) {
  if (offers.length === 0) return [[route, model, outcome, undefined, undefined]]
  return offers.map(({ entry, changes }) => [
    route,
    model,
    outcome,
    entry,
    changes.map(changeText).join(', '),
  ])
}

const changeText = ({ field, from, to }: Change) => `${field} ${from ?? 'none'} -> ${to}`

function notesOf({ entry, kept, notes }: Offer): string[] {
  const own = kept.length === 0 ? [] : [`kept, since the list has none: ${kept.join(', ')}`]
  return [...notes, ...own].map((note) => `${entry}: ${note}`)
}

/** One document for each route that would change; all else is in comments. */
function yamlText(findings: readonly Shown[]): string {
  let blocks = 0
  return findings
    .map((finding) => {
      const block = finding.outcome === 'ambiguous' ? undefined : blockOf(finding)
      const comments = commentsOf(finding).map((line) => plain(`# ${line}`))
      if (block === undefined) return comments.join('\n')
      blocks++
      return [...(blocks > 1 ? ['---'] : []), ...comments, block].join('\n')
    })
    .join('\n')
}

function blockOf({ offers: [offer] }: Shown): string | undefined {
  return offer === undefined || offer.changes.length === 0 ? undefined : yamlOf(offer.block)
}

function commentsOf({ route, model, outcome, offers, notes }: Shown): string[] {
  const lines = [`ModelRoute ${route}, model ${model}: ${WORDS[outcome]}`]
  for (const offer of offers) {
    const prices = [...fieldsOf(offer.price)].map(([field, price]) => `${field} ${price}`)
    if (outcome === 'ambiguous') lines.push(`  entry ${offer.entry}: ${prices.join(', ')}`)
    else lines.push(`  entry ${offer.entry}`, ...offer.changes.map((change) => `  ${changeText(change)}`))
    lines.push(...notesOf(offer).map((note) => `  ${note}`))
  }
  return [...lines, ...notes.map((note) => `  ${note}`)]
}
