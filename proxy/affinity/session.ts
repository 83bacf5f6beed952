/** What a client calls its session. */
import type { IncomingHttpHeaders } from 'node:http'

/** Ours first, then those of agents and chat programs that name one conversation by it. */
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

/** A header, else the key by which the client groups requests for prompt caches; undefined when it names no session. */
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
