/** Codex as docs/clients.md says to set it up. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { settings } from './docs.ts'
import { type Desk, type Json, KEY, type Room, type Run } from './room.ts'

/** Writes the settings of the page, with the gateway's address, and more lines before them. */
export function setUpCodex(desk: Desk, { gateway }: Room, more: readonly string[] = []): void {
  write(desk, [...more, settings('Codex', gateway.base)])
}

/** Its own provider, at another address: it then asks as it asks the hosted API. */
export function setUpAsHosted(desk: Desk, { gateway }: Room, more: readonly string[] = []): void {
  write(desk, [...more, `openai_base_url = "${gateway.base}/v1"`])
}

function write({ home }: Desk, lines: string[]): void {
  mkdirSync(join(home, '.codex'), { recursive: true })
  writeFileSync(join(home, '.codex/config.toml'), `${lines.join('\n')}\n`)
}

/** It runs what the model asks for: the folder is empty and the model a script. */
const FREELY = ['--skip-git-repo-check', '--json', '--dangerously-bypass-approvals-and-sandbox']

/** One turn without a terminal; `resume` goes on with the last one. */
export function codex(desk: Desk, model: string, prompt: string, resume = false): Promise<Run> {
  const args = ['exec', ...(resume ? ['resume', '--last'] : []), ...FREELY, '-m', model, prompt]
  return desk.run('codex', args, { SLUICE_API_KEY: KEY, CODEX_API_KEY: KEY, WRONG_API_KEY: 'sk-wrong' })
}

/** What it has shown to its user as the model's words. */
export const shown = ({ events }: Run): string[] =>
  items(events)
    .filter(({ type }) => type === 'agent_message')
    .map(({ text }) => String(text))

export const items = (events: Json[]): Json[] =>
  events.filter(({ type }) => type === 'item.completed').map(({ item }) => item as Json)
