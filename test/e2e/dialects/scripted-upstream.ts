/** An upstream that gives scripted answers, in each dialect as its hosted API writes them. */
import type { ServerResponse } from 'node:http'
import { json, type Script, type UpstreamCall } from '../../harness/upstream.ts'
import type { DialectName, ScriptedAnswer } from './scripted-answer.ts'
import { chatBody, chatEvents } from './scripted-chat.ts'
import { messagesBody, messagesEvents } from './scripted-messages.ts'
import { responsesBody, responsesEvents } from './scripted-responses.ts'

export const dialectOf = ({ path }: Pick<UpstreamCall, 'path'>): DialectName => {
  if (path.includes('/chat/completions')) return 'chat'
  return path.includes('/messages') ? 'messages' : 'responses'
}

const BODY = { chat: chatBody, responses: responsesBody, messages: messagesBody }
const EVENTS = { chat: chatEvents, responses: responsesEvents, messages: messagesEvents }

export const answerBody = (dialect: DialectName, answer: ScriptedAnswer): object => BODY[dialect](answer)

/** The events with their blank lines; the last one of chat is [DONE]. */
export const answerEvents = (dialect: DialectName, answer: ScriptedAnswer): string[] =>
  EVENTS[dialect](answer)

/** Gives a scripted answer in the dialect of the request, as JSON or as a stream. */
export function scripted(
  answer: ScriptedAnswer | ((body: Record<string, unknown>, dialect: DialectName) => ScriptedAnswer),
): Script {
  return (call, res) => {
    const dialect = dialectOf(call)
    const body = JSON.parse(call.body.toString()) as Record<string, unknown>
    const given = typeof answer === 'function' ? answer(body, dialect) : answer
    if (body.stream !== true) return json(res, 200, answerBody(dialect, given))
    stream(res, answerEvents(dialect, given))
  }
}

export function stream(res: ServerResponse, events: readonly string[]): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events) res.write(event)
  res.end()
}
