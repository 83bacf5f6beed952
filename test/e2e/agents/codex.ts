/** Codex, set up as docs/clients.md says. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { settings } from './docs.ts'
import { type Json, KEY, type Run, type Workspace, type World } from './world.ts'

/** Writes the page's settings with the gateway's address, after the lines in `more`. */
export function setUpCodex(workspace: Workspace, { gateway }: World, more: readonly string[] = []): void {
  write(workspace, [...more, settings('Codex', gateway.base)])
}

/** Codex's built-in provider at the gateway's address: it then uses the features of the hosted API. */
export function setUpAsHosted(workspace: Workspace, { gateway }: World, more: readonly string[] = []): void {
  write(workspace, [...more, `openai_base_url = "${gateway.base}/v1"`])
}

function write({ home }: Workspace, lines: string[]): void {
  mkdirSync(join(home, '.codex'), { recursive: true })
  writeFileSync(join(home, '.codex/config.toml'), `${lines.join('\n')}\n`)
}

/** Runs all commands of the model: the folder is empty and the model is a script. */
const UNATTENDED = ['--skip-git-repo-check', '--json', '--dangerously-bypass-approvals-and-sandbox']

/** Runs one turn without a terminal; `resume` continues the last conversation. */
export function codex(workspace: Workspace, model: string, prompt: string, resume = false): Promise<Run> {
  const args = ['exec', ...(resume ? ['resume', '--last'] : []), ...UNATTENDED, '-m', model, prompt]
  return workspace.run('codex', args, { SLUICE_API_KEY: KEY, CODEX_API_KEY: KEY, WRONG_API_KEY: 'sk-wrong' })
}

/** The model texts that Codex showed to its user. */
export const agentMessages = ({ events }: Run): string[] =>
  items(events)
    .filter(({ type }) => type === 'agent_message')
    .map(({ text }) => String(text))

export const items = (events: Json[]): Json[] =>
  events.filter(({ type }) => type === 'item.completed').map(({ item }) => item as Json)
