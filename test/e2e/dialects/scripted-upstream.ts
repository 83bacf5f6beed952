/** A story told by an upstream, in the words of each dialect as its hosted API writes them. */
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

export const answerBody = (dialect: DialectName, story: ScriptedAnswer): object => BODY[dialect](story)

/** Each with its empty line; chat's last is [DONE]. */
export const answerEvents = (dialect: DialectName, story: ScriptedAnswer): string[] => EVENTS[dialect](story)

/** An upstream that scripted a story in the dialect in which it is asked, whole or as a stream as the body says. */
export function scripted(
  story: ScriptedAnswer | ((body: Record<string, unknown>, dialect: DialectName) => ScriptedAnswer),
): Script {
  return (call, res) => {
    const dialect = dialectOf(call)
    const body = JSON.parse(call.body.toString()) as Record<string, unknown>
    const told = typeof story === 'function' ? story(body, dialect) : story
    if (body.stream !== true) return json(res, 200, answerBody(dialect, told))
    stream(res, answerEvents(dialect, told))
  }
}

export function stream(res: ServerResponse, events: readonly string[]): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events) res.write(event)
  res.end()
}
