/** Claude Code, set up as docs/clients.md says. */

import { settings } from './docs.ts'
import { type Json, KEY, type Run, type Workspace, type World } from './world.ts'

/** The environment variable with the key; it decides the header that carries the key. */
export type KeyVariable = 'ANTHROPIC_AUTH_TOKEN' | 'ANTHROPIC_API_KEY'

export interface Options {
  key?: KeyVariable
  /** Tools that it may use without permission. */
  tools?: string[]
  /** Path of the MCP configuration. */
  mcp?: string
  /** Continues the last conversation. */
  resume?: boolean
  /** Replaces the key. */
  secret?: string
}

/** Runs one prompt without a terminal. */
export function claude(
  workspace: Workspace,
  world: World,
  model: string,
  prompt: string,
  options: Options = {},
): Promise<Run> {
  const { key = 'ANTHROPIC_AUTH_TOKEN', tools = [], secret = KEY } = options
  const args = ['-p', prompt, '--output-format', 'stream-json', '--verbose']
  if (options.mcp !== undefined) args.push('--mcp-config', options.mcp)
  if (options.resume) args.push('--continue')
  if (tools.length > 0) args.push('--allowedTools', tools.join(','))
  return workspace.run('claude', args, { ...variables(world), ANTHROPIC_MODEL: model, [key]: secret })
}

/** The page's variables except the key and the model. */
function variables({ gateway }: World): Record<string, string> {
  const found = [...settings('Claude Code', gateway.base).matchAll(/^export (\w+)=(\S+)$/gm)]
  const named = found.filter(([, name]) => name !== 'ANTHROPIC_AUTH_TOKEN' && name !== 'ANTHROPIC_MODEL')
  return Object.fromEntries(named.map(([, name = '', value = '']) => [name, value]))
}

/** The event with the result of the prompt. */
export const outcome = ({ events }: Run): Json => events.find(({ type }) => type === 'result') ?? {}
