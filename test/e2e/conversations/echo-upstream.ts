/**
 * An upstream whose model answers with the user texts that it received, as a JSON list. Over the responses API it stores
 * conversations by response id, as the hosted API does.
 */
import { json, type Script, type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'
import { answerBody, answerEvents, dialectOf, stream } from '../dialects/scripted-upstream.ts'

type Json = Record<string, unknown>

export interface EchoUpstream extends ScriptedUpstream {
  /** Stored conversations by response id. */
  stored: Map<string, Json[]>
  /** Body of the last call. */
  last(): Json
}

export async function startEchoUpstream(): Promise<EchoUpstream> {
  const stored = new Map<string, Json[]>()
  const upstream = await startUpstream(echo(stored))
  return {
    ...upstream,
    stored,
    last: () => JSON.parse(upstream.calls.at(-1)?.body.toString() ?? '') as Json,
  }
}

let responses = 0

/** Answers with the user texts of the request and of its stored conversation. */
export function echo(stored: Map<string, Json[]>): Script {
  return (call, res) => {
    const dialect = dialectOf(call)
    const body = JSON.parse(call.body.toString() || '{}') as Json
    const id = `resp_r${responses++}`
    const items = dialect === 'responses' ? itemsOf(body, stored) : asItems(body.messages)
    if (items === undefined) {
      const message = `Previous response with id '${String(body.previous_response_id)}' not found.`
      const error = { message, type: 'invalid_request_error', param: 'previous_response_id' }
      return json(res, 400, { error: { ...error, code: 'previous_response_not_found' } })
    }
    const text = JSON.stringify(items.filter(({ role }) => role === 'user').map(textOf))
    if (dialect === 'responses' && body.store !== false)
      stored.set(id, [...items, { role: 'assistant', content: text }])
    const named = (part: string) => part.replaceAll('resp_up', id)
    if (body.stream !== true)
      return json(res, 200, JSON.parse(named(JSON.stringify(answerBody(dialect, { text })))) as object)
    stream(res, answerEvents(dialect, { text }).map(named))
  }
}

function itemsOf(
  { input, previous_response_id: previous }: Json,
  stored: Map<string, Json[]>,
): Json[] | undefined {
  const own = typeof input === 'string' ? [{ role: 'user', content: input }] : asItems(input)
  if (previous === undefined || previous === null) return own
  const before = stored.get(String(previous))
  return before && [...before, ...own]
}

function asItems(list: unknown): Json[] {
  return Array.isArray(list) ? (list as Json[]) : []
}

function textOf({ content }: Json): string {
  if (typeof content === 'string') return content
  return asItems(content)
    .map(({ text }) => String(text ?? ''))
    .join('')
}
