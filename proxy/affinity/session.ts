/** Finds the name of the session that a request belongs to. */
import type { IncomingHttpHeaders } from 'node:http'

/** Our own header first, then those in which agents and chat programs send the id of a conversation. */
const HEADERS = [
  'x-session-affinity',
  // Claude Code
  'x-claude-code-session-id',
  // Codex, in the order from one conversation to one window
  'session-id',
  'session_id',
  'thread-id',
  'conversation_id',
  // opencode
  'x-opencode-session',
  // Open WebUI
  'x-openwebui-chat-id',
]
const MAX_LENGTH = 1_024

/** From a header, else the key by which the client groups requests for prompt caches; undefined without both. */
export function sessionOf(headers: IncomingHttpHeaders, cacheKey: string | undefined): string | undefined {
  for (const name of HEADERS) {
    const value = headers[name]
    if (typeof value === 'string' && isName(value)) return value
  }
  return cacheKey !== undefined && isName(cacheKey) ? cacheKey : undefined
}

function isName(text: string): boolean {
  return text !== '' && text.length <= MAX_LENGTH
}
