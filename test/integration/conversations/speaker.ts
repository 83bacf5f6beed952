/**
 * An upstream whose answers list the texts it was sent: each text of the user, and for each answer the name that its
 * model gave it. Over the responses API it keeps conversations by their ids until a test deletes them.
 */

import { COUNTS, type Counts } from '../../e2e/dialects/scripted-answer.ts'
import { answerBody, answerEvents, dialectOf, stream } from '../../e2e/dialects/scripted-upstream.ts'
import { json, type Script, type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'

type Json = Record<string, unknown>

export interface Speaker extends ScriptedUpstream {
  name: string
  /** Items by the id of the response that they end with. */
  kept: Map<string, Json[]>
  /** Previous ids that it did not know. */
  unknown: string[]
  /** The usage that it reports. */
  counts: Counts
  /** Answers as usual again, after `answer`. */
  resume(): void
  /** The body of the last call. */
  last(): Json
}

/** The content of an answer. */
export interface Spoken {
  /** A name of this answer alone; the part before the hyphen is the upstream's. */
  me: string
  read: string[]
}

export async function startSpeaker(name: string): Promise<Speaker> {
  let answered = 0
  const kept = new Map<string, Json[]>()
  const script: Script = (call, res) => {
    const dialect = dialectOf(call)
    const body = JSON.parse(call.body.toString()) as Json
    answered += 1
    const id = `resp_${name}${answered}`
    const items = dialect === 'responses' ? itemsOf(body, kept) : list(body.messages)
    const before = String(body.previous_response_id)
    if (items === undefined) speaker.unknown.push(before)
    if (items === undefined)
      return refuse(res, 'previous_response_not_found', `Previous response with id '${before}' not found.`)
    const sealed = items.map(({ encrypted_content: text }) => text).filter((text) => text !== undefined)
    if (sealed.some((text) => !String(text).startsWith(`${name}-`)))
      return refuse(res, 'invalid_encrypted_content', 'The encrypted content could not be verified.')
    const me = `${name}-${answered}`
    const text = JSON.stringify({ me, read: items.flatMap(readOf) })
    if (dialect === 'responses' && body.store !== false)
      kept.set(id, [...items, { role: 'assistant', content: text }])
    const story = {
      text,
      counts: speaker.counts,
      ...(body.store === false && { reasoning: 'T', opaque: me }),
    }
    const named = (part: string) => part.replaceAll('resp_up', id)
    if (body.stream === true) stream(res, answerEvents(dialect, story).map(named))
    else json(res, 200, JSON.parse(named(JSON.stringify(answerBody(dialect, story)))) as object)
  }
  const upstream = await startUpstream(script)
  const speaker: Speaker = {
    ...upstream,
    name,
    kept,
    unknown: [],
    counts: COUNTS,
    resume: () => upstream.answer(script),
    last: () => JSON.parse(upstream.calls.at(-1)?.body.toString() ?? '') as Json,
  }
  return speaker
}

function refuse(res: Parameters<Script>[1], code: string, message: string): void {
  const type = 'invalid_request_error'
  json(res, 400, { error: { message, type, param: 'previous_response_id', code } })
}

function itemsOf(
  { input, previous_response_id: previous }: Json,
  kept: Map<string, Json[]>,
): Json[] | undefined {
  const own = typeof input === 'string' ? [{ role: 'user', content: input }] : list(input)
  if (previous === undefined || previous === null) return own
  const before = kept.get(String(previous))
  return before && [...before, ...own]
}

function readOf({ role, content }: Json): string[] {
  if (role !== 'user' && role !== 'assistant') return []
  const text =
    typeof content === 'string'
      ? content
      : list(content)
          .map((part) => String(part.text ?? ''))
          .join('')
  return [role === 'user' ? text : (JSON.parse(text) as Spoken).me]
}

const list = (value: unknown) => (Array.isArray(value) ? (value as Json[]) : [])
