/** Log lines as text for a terminal: time, level, message. Elsewhere the same lines are JSON. */
import { z } from 'zod'
import { ENDPOINTS, pathTemplate } from '../contract/endpoints.ts'
import { jsonOf } from '../contract/text.ts'
import { totalInput } from '../contract/usage.ts'
import { type Entry, entrySchema, reasonOf } from './log-row.ts'

/** Longer values are cut; the JSON form has all of them. */
const MAX_VALUE = 300

const line = z.looseObject({ time: z.string(), level: z.string() })
const failure = z.looseObject({ message: z.string(), stack: z.string().optional() })

/** Requests other than a POST to an endpoint of `ENDPOINTS`. */
const OTHERS: Readonly<Record<string, string>> = {
  models: 'GET /v1/models',
  stored_responses: '/v1/responses/{id}',
  relay: 'POST /api/proxy',
  none: 'refused before any endpoint:',
}

/** One line of text for one line of JSON. Any other input is shown unchanged, on one line. */
export function textLine(json: string): string {
  const parsed = line.safeParse(jsonOf(json))
  if (!parsed.success) return escaped(json.trimEnd())
  const { time, level, ...rest } = parsed.data
  const request = rest.kind === 'request' ? entrySchema.safeParse(parsed.data) : undefined
  const message = request?.success ? requestText(request.data) : messageText(rest)
  return escaped(`${clock(time)} ${level.padEnd(5)} ${message}`)
}

function requestText(entry: Entry): string {
  const { endpoint, status, code, model, attempts, ms, usage } = entry
  const channel = (attempts.findLast((each) => each.class === 'ok') ?? attempts.at(-1))?.channel
  const reason = reasonOf(entry)
  return [
    pathOf(endpoint),
    status,
    code,
    model === undefined ? undefined : cut(model),
    channel === undefined ? undefined : `via ${channel.split('/').at(-1)}`,
    `${Math.round(ms.total)} ms`,
    usage === undefined ? undefined : `${totalInput(usage) + usage.output} tokens`,
    reason === undefined || reason === '' ? undefined : `(${cut(reason)})`,
  ]
    .filter((part) => part !== undefined)
    .join(' ')
}

function pathOf(endpoint: string): string {
  const facts = Object.entries(ENDPOINTS).find(([name]) => name === endpoint)?.[1]
  return facts === undefined ? (OTHERS[endpoint] ?? endpoint) : `POST ${pathTemplate(facts.path)}`
}

function messageText({ msg, ...fields }: Record<string, unknown>): string {
  const shown = Object.entries(fields)
    .filter(([, value]) => value !== null && JSON.stringify(value) !== '{}')
    .map(([name, value]) => `${name}=${valueText(value)}`)
  return [typeof msg === 'string' ? msg : '', ...shown].filter((part) => part !== '').join('  ')
}

function valueText(value: unknown): string {
  const error = failure.safeParse(value)
  if (error.success) return cut(error.data.stack ?? error.data.message)
  if (typeof value === 'string' && /^[^\s"=]+$/.test(value)) return cut(value)
  return cut(JSON.stringify(value))
}

/** The local time. */
function clock(time: string): string {
  const date = new Date(time)
  const two = (part: number) => String(part).padStart(2, '0')
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

const cut = (text: string) => (text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}…`)

/** Escapes characters that would move a terminal's cursor or begin a new line. */
function escaped(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) =>
    character === '\n' ? '\\n' : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
