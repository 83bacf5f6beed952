/** Claude Code as docs/clients.md says to set it up. */

import { settings } from './docs.ts'
import { type Desk, type Json, KEY, type Room, type Run } from './room.ts'

/** The variable that the key comes in; it is then sent in another header. */
export type KeyVariable = 'ANTHROPIC_AUTH_TOKEN' | 'ANTHROPIC_API_KEY'

export interface Options {
  key?: KeyVariable
  /** Tools that it may use without asking. */
  tools?: string[]
  /** A file that names MCP servers. */
  mcp?: string
  /** Goes on with the last conversation. */
  goOn?: boolean
  /** Replaces the key. */
  secret?: string
}

/** One prompt without a terminal. */
export function claude(
  desk: Desk,
  room: Room,
  model: string,
  prompt: string,
  options: Options = {},
): Promise<Run> {
  const { key = 'ANTHROPIC_AUTH_TOKEN', tools = [], secret = KEY } = options
  const args = ['-p', prompt, '--output-format', 'stream-json', '--verbose']
  if (options.mcp !== undefined) args.push('--mcp-config', options.mcp)
  if (options.goOn) args.push('--continue')
  if (tools.length > 0) args.push('--allowedTools', tools.join(','))
  return desk.run('claude', args, { ...variables(room), ANTHROPIC_MODEL: model, [key]: secret })
}

/** Those of the page, but for the key and the model. */
function variables({ gateway }: Room): Record<string, string> {
  const found = [...settings('Claude Code', gateway.base).matchAll(/^export (\w+)=(\S+)$/gm)]
  const named = found.filter(([, name]) => name !== 'ANTHROPIC_AUTH_TOKEN' && name !== 'ANTHROPIC_MODEL')
  return Object.fromEntries(named.map(([, name = '', value = '']) => [name, value]))
}

/** The last line: what came of the prompt. */
export const outcome = ({ events }: Run): Json => events.find(({ type }) => type === 'result') ?? {}
