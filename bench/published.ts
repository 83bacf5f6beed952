/** What onthebench.ai has published of other gateways, on its own machine. */
import { tableOf } from './report.ts'

interface Published {
  name: string
  addedP99Micros: number
  perSecond: number
  streams?: number
}

/** As its board showed them in 2026. */
const BOARD: readonly Published[] = [
  { name: 'agentgateway', addedP99Micros: 186, perSecond: 29_700 },
  { name: 'Helicone', addedP99Micros: 444, perSecond: 10_300 },
  { name: 'Bifrost', addedP99Micros: 939, perSecond: 6_200, streams: 128 },
  { name: 'Kong', addedP99Micros: 1_300, perSecond: 14_300 },
  { name: 'Portkey', addedP99Micros: 3_300, perSecond: 875, streams: 32 },
  { name: 'LiteLLM (Python)', addedP99Micros: 8_000, perSecond: 590 },
]

const MACHINE = 'AWS m7g, 8 cores of Graviton3'

export function publishedTable(): string {
  const rows = BOARD.map(({ name, addedP99Micros, perSecond, streams }) => [
    name,
    MACHINE,
    '4',
    addedP99Micros.toLocaleString('en'),
    perSecond.toLocaleString('en'),
    streams?.toLocaleString('en') ?? '–',
  ])
  return tableOf(['Server', 'machine', 'cores', 'added p99 µs', 'requests/s', 'streams'], rows)
}
