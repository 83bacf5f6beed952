/** MCP tools: Codex declares them in namespaces, or after the model has searched for them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { customCall, DIALECTS } from '../dialects/scripted-answer.ts'
import { claude, outcome } from './claude.ts'
import { agentMessages, codex, setUpCodex } from './codex.ts'
import { results, tools } from './read-request.ts'
import { createWorkspace, outputTail, startWorld, type Workspace, type World } from './world.ts'

const SUITE_MS = 90_000
const SERVER = [process.execPath, join(import.meta.dirname, 'mcp-server.ts')] as const
const INPUT = '{"city":"Łódź"}'

let world: World
let workspace: Workspace
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.close())
beforeEach(() => {
  workspace = createWorkspace()
})
afterEach(() => workspace?.clear())

/** Adds the server to the settings of Codex. */
function addServer(): void {
  const server = `[mcp_servers.cities]\ncommand = "${SERVER[0]}"\nargs = ["${SERVER[1]}"]\nrequired = true\n`
  workspace.edit('.codex/config.toml', '[model_providers', `${server}\n[model_providers`)
}

describe('MCP tools', { timeout: SUITE_MS }, () => {
  describe.each(DIALECTS)('Codex over %s', (upstream) => {
    beforeEach(() => {
      setUpCodex(workspace, world)
      addServer()
    })

    it('calls a tool by name', async () => {
      const name = 'mcp__cities__population'
      world.answerWith({ calls: [{ id: 'call_m', name, input: INPUT }] }, { text: 'Many.' })
      const run = await codex(workspace, upstream, 'How many?')
      expect(agentMessages(run), outputTail(run)).toEqual(['Many.'])
      const [first, second] = world.requests()
      expect(first && tools(first)).toContain(upstream === 'responses' ? 'mcp__cities' : name)
      expect(second && results(second)).toEqual([
        { id: 'call_m', text: expect.stringContaining('Łódź: 652015') },
      ])
    })

    it('calls a tool from code', async () => {
      const code = `text(JSON.stringify(await tools.mcp__cities__population(${INPUT})))`
      world.answerWith({ calls: [customCall('call_e', 'functions__exec', code)] }, { text: 'Many.' })
      const run = await codex(workspace, `gpt-6.1-sol-${upstream}`, 'How many?')
      expect(agentMessages(run), outputTail(run)).toEqual(['Many.'])
      const [, second] = world.requests()
      expect(second && results(second)).toEqual([
        { id: 'call_e', text: expect.stringContaining('Łódź: 652015') },
      ])
    })
  })

  it.each(['chat', 'messages'])('Codex over %s finds the tool by searching', async (upstream) => {
    setUpCodex(workspace, world)
    addServer()
    const name = 'mcp__cities__population'
    world.answerWith(
      { calls: [{ id: 'call_s', name: 'tool_search', input: '{"query":"population of a city"}' }] },
      { calls: [{ id: 'call_m', name, input: INPUT }] },
      { text: 'Many.' },
    )
    const run = await codex(workspace, `gpt-5.5-${upstream}`, 'How many?')
    expect(agentMessages(run), outputTail(run)).toEqual(['Many.'])
    const [first, second, third] = world.requests()
    expect(first && tools(first)).toContain('tool_search')
    expect(first && tools(first)).not.toContain(name)
    expect(second && tools(second)).toContain(name)
    expect(third && results(third)).toEqual([
      { id: 'call_s', text: expect.stringContaining(`"name":"${name}"`) },
      { id: 'call_m', text: expect.stringContaining('Łódź: 652015') },
    ])
  })

  it.each(DIALECTS)('Claude Code over %s', async (upstream) => {
    const config = join(workspace.home, 'mcp.json')
    const cities = { command: SERVER[0], args: [SERVER[1]] }
    writeFileSync(config, JSON.stringify({ mcpServers: { cities } }))
    const name = 'mcp__cities__population'
    world.answerWith(
      { calls: [{ id: 'call_s', name: 'ToolSearch', input: JSON.stringify({ query: `select:${name}` }) }] },
      { calls: [{ id: 'call_m', name, input: INPUT }] },
      { text: 'Many.' },
    )
    const run = await claude(workspace, world, `claude-opus-5-${upstream}`, 'How many?', {
      tools: [name],
      mcp: config,
    })
    expect(outcome(run), outputTail(run)).toMatchObject({ is_error: false, result: 'Many.' })
    const [first, second, third] = world.requests()
    expect(first && tools(first)).not.toContain(name)
    expect(second && tools(second)).toContain(name)
    expect(third && results(third)).toEqual([
      { id: 'call_s', text: upstream === 'messages' ? '' : name },
      { id: 'call_m', text: expect.stringContaining('Łódź: 652015') },
    ])
  })
})
