/** `sluice usage`: requests, tokens and costs by account, key, model, channel, tag and day. */
import { formatDollars } from '../contract/money.ts'
import { type UsageLine, usageAnswer } from './admin/answers.ts'
import { findPorts } from './admin/discover.ts'
import { ofRole, survey, tried } from './admin/survey.ts'
import { type AdminOptions, CommandFailure, json, type Terminal, type Tool } from './command.ts'
import { table } from './table.ts'

interface UsageOptions extends AdminOptions {
  /** Days such as 2026-12-31, both included. */
  since: string
  until: string
  by: string[]
  output: 'table' | 'csv' | 'json'
}

/** Of a table; the others are in JSON and CSV. */
const SHOWN = ['requests', 'errors', 'input', 'cachedInput', 'output']

export const usage: Tool<UsageOptions> = async (options, terminal) => {
  const { since, until, by, output } = options
  const lines = await read(options, terminal, { from: since, to: until, by: by.join(',') })
  const total = sum(lines)
  if (output === 'json')
    terminal.print(json({ since, until, lines: lines.map(inDollars), total: inDollars(total).counts }))
  else if (output === 'csv') terminal.print(csv(by, lines))
  else terminal.print(text(by, [...lines, ...(by.length > 0 ? [total] : [])], terminal.width))
  return 0
}

async function read(
  options: AdminOptions,
  terminal: Terminal,
  query: Readonly<Record<string, string>>,
): Promise<UsageLine[]> {
  const { ports, close } = await findPorts(options, terminal)
  try {
    for (const port of ofRole(await survey(ports), 'controller')) {
      const answer = await tried(port, '/usage', usageAnswer, query)
      if ('failure' in answer && answer.failure.status === 400)
        throw new CommandFailure(answer.failure.message)
      if ('value' in answer && answer.value.leading) return answer.value.lines
    }
  } finally {
    await close()
  }
  throw new CommandFailure('no controller that leads answered with the usage')
}

function sum(lines: readonly UsageLine[]): UsageLine {
  const counts: Record<string, number> = {}
  for (const line of lines)
    for (const [name, count] of Object.entries(line.counts)) counts[name] = (counts[name] ?? 0) + count
  return { of: {}, counts }
}

/** Costs as decimal text, and with prices of upstreams the margin. */
function inDollars({ of, counts }: UsageLine): {
  of: UsageLine['of']
  counts: Record<string, number | string>
} {
  const { cost = 0, upstreamCost, ...others } = counts
  const shown = { ...others, cost: formatDollars(cost) }
  if (upstreamCost === undefined) return { of, counts: shown }
  const margin = { upstreamCost: formatDollars(upstreamCost), margin: formatDollars(cost - upstreamCost) }
  return { of, counts: { ...shown, ...margin } }
}

function text(by: readonly string[], lines: readonly UsageLine[], width: number | undefined): string {
  const hasUpstream = lines.some(({ counts }) => counts.upstreamCost !== undefined)
  const money = hasUpstream ? ['cost', 'upstreamCost', 'margin'] : ['cost']
  const used = SHOWN.filter(
    (name) => name === 'requests' || lines.some(({ counts }) => counts[name] !== undefined),
  )
  const heads = [...by, ...used, ...money].map((name) => name.replace(/[A-Z]/g, (letter) => ` ${letter}`))
  const rows = lines.map((line) => {
    const { of, counts } = inDollars(line)
    const isTotal = by.length > 0 && Object.keys(of).length === 0
    const names = by.map((dimension, i) => (isTotal ? (i === 0 ? 'total' : '') : of[dimension]))
    return [...names, ...used.map((name) => counts[name] ?? 0), ...money.map((name) => counts[name] ?? '0')]
  })
  return table(heads, rows, width)
}

/** Columns of CSV that are there even if all of them are zero. */
const ALWAYS = ['requests', 'input', 'output', 'cost']

/** RFC 4180. */
function csv(by: readonly string[], lines: readonly UsageLine[]): string {
  const shown = lines.map(inDollars)
  const names = [...new Set([...ALWAYS, ...shown.flatMap(({ counts }) => Object.keys(counts))])].sort()
  const rows = shown.map(({ of, counts }) => [
    ...by.map((one) => of[one] ?? ''),
    ...names.map((name) => counts[name] ?? 0),
  ])
  return [[...by, ...names], ...rows].map((row) => row.map(field).join(',')).join('\r\n')
}

function field(value: string | number): string {
  const text = String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
