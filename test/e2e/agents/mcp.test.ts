/** Tools of an MCP server: declared in namespaces by Codex, or once the model has sought them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DIALECTS, freeCall } from '../dialects/story.ts'
import { claude, outcome } from './claude.ts'
import { codex, setUpCodex, shown } from './codex.ts'
import { ABSENT, AGENTS_ARE_HERE } from './install.ts'
import { results, tools } from './read.ts'
import { type Desk, openDesk, openRoom, type Room, why } from './room.ts'

const SUITE_MS = 90_000
const SERVER = [process.execPath, join(import.meta.dirname, 'mcp-server.ts')] as const
const INPUT = '{"city":"Łódź"}'

let room: Room
let desk: Desk
beforeAll(async () => {
  room = await openRoom()
})
afterAll(() => room?.close())
beforeEach(() => {
  desk = openDesk()
})
afterEach(() => desk?.clear())

/** Tells Codex of the server. */
function serve(): void {
  const server = `[mcp_servers.cities]\ncommand = "${SERVER[0]}"\nargs = ["${SERVER[1]}"]\n`
  desk.edit('.codex/config.toml', '[model_providers', `${server}\n[model_providers`)
}

describe.skipIf(!AGENTS_ARE_HERE)(`tools of others${ABSENT}`, { timeout: SUITE_MS }, () => {
  describe.each(DIALECTS)('Codex over %s', (upstream) => {
    beforeEach(() => {
      setUpCodex(desk, room)
      serve()
    })

    it('calls it by its name', async () => {
      const name = 'mcp__cities__population'
      room.plays({ calls: [{ id: 'call_m', name, input: INPUT }] }, { text: 'Many.' })
      const run = await codex(desk, upstream, 'How many?')
      expect(shown(run), why(run)).toEqual(['Many.'])
      const [first, second] = room.asked()
      expect(first && tools(first)).toContain(upstream === 'responses' ? 'mcp__cities' : name)
      expect(second && results(second)).toEqual([
        { id: 'call_m', text: expect.stringContaining('Łódź: 652015') },
      ])
    })

    it('calls it from code', async () => {
      const code = `text(JSON.stringify(await tools.mcp__cities__population(${INPUT})))`
      room.plays({ calls: [freeCall('call_e', 'functions__exec', code)] }, { text: 'Many.' })
      const run = await codex(desk, `gpt-6.1-sol-${upstream}`, 'How many?')
      expect(shown(run), why(run)).toEqual(['Many.'])
      const [, second] = room.asked()
      expect(second && results(second)).toEqual([
        { id: 'call_e', text: expect.stringContaining('Łódź: 652015') },
      ])
    })
  })

  it.each(['chat', 'messages'])('Codex over %s, which has to look for it', async (upstream) => {
    setUpCodex(desk, room)
    serve()
    const name = 'mcp__cities__population'
    room.plays(
      { calls: [{ id: 'call_s', name: 'tool_search', input: '{"query":"population of a city"}' }] },
      { calls: [{ id: 'call_m', name, input: INPUT }] },
      { text: 'Many.' },
    )
    const run = await codex(desk, `gpt-5.5-${upstream}`, 'How many?')
    expect(shown(run), why(run)).toEqual(['Many.'])
    const [first, second, third] = room.asked()
    expect(first && tools(first)).toContain('tool_search')
    expect(first && tools(first)).not.toContain(name)
    expect(second && tools(second)).toContain(name)
    expect(third && results(third)).toEqual([
      { id: 'call_s', text: expect.stringContaining(`"name":"${name}"`) },
      { id: 'call_m', text: expect.stringContaining('Łódź: 652015') },
    ])
  })

  it.each(DIALECTS)('Claude Code over %s', async (upstream) => {
    const config = join(desk.home, 'mcp.json')
    const cities = { command: SERVER[0], args: [SERVER[1]] }
    writeFileSync(config, JSON.stringify({ mcpServers: { cities } }))
    const name = 'mcp__cities__population'
    room.plays(
      { calls: [{ id: 'call_s', name: 'ToolSearch', input: JSON.stringify({ query: `select:${name}` }) }] },
      { calls: [{ id: 'call_m', name, input: INPUT }] },
      { text: 'Many.' },
    )
    const run = await claude(desk, room, `claude-opus-5-${upstream}`, 'How many?', {
      tools: [name],
      mcp: config,
    })
    expect(outcome(run), why(run)).toMatchObject({ is_error: false, result: 'Many.' })
    const [first, second, third] = room.asked()
    expect(first && tools(first)).not.toContain(name)
    expect(second && tools(second)).toContain(name)
    expect(third && results(third)).toEqual([
      { id: 'call_s', text: upstream === 'messages' ? '' : name },
      { id: 'call_m', text: expect.stringContaining('Łódź: 652015') },
    ])
  })
})
