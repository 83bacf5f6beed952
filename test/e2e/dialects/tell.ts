/** A story told by an upstream, in the words of each dialect as its hosted API writes them. */
import type { ServerResponse } from 'node:http'
import { json, type Script, type UpstreamCall } from '../../harness/upstream.ts'
import type { DialectName, Story } from './story.ts'
import { chatBody, chatEvents } from './story-chat.ts'
import { messagesBody, messagesEvents } from './story-messages.ts'
import { responsesBody, responsesEvents } from './story-responses.ts'

export const dialectOf = ({ path }: Pick<UpstreamCall, 'path'>): DialectName => {
  if (path.includes('/chat/completions')) return 'chat'
  return path.includes('/messages') ? 'messages' : 'responses'
}

const BODY = { chat: chatBody, responses: responsesBody, messages: messagesBody }
const EVENTS = { chat: chatEvents, responses: responsesEvents, messages: messagesEvents }

export const storyBody = (dialect: DialectName, story: Story): object => BODY[dialect](story)

/** Each with its empty line; chat's last is [DONE]. */
export const storyEvents = (dialect: DialectName, story: Story): string[] => EVENTS[dialect](story)

/** An upstream that tells a story in the dialect in which it is asked, whole or as a stream as the body says. */
export function tells(
  story: Story | ((body: Record<string, unknown>, dialect: DialectName) => Story),
): Script {
  return (call, res) => {
    const dialect = dialectOf(call)
    const body = JSON.parse(call.body.toString()) as Record<string, unknown>
    const told = typeof story === 'function' ? story(body, dialect) : story
    if (body.stream !== true) return json(res, 200, storyBody(dialect, told))
    stream(res, storyEvents(dialect, told))
  }
}

export function stream(res: ServerResponse, events: readonly string[]): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events) res.write(event)
  res.end()
}
