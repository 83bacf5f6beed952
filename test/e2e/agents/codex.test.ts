/** Codex over each type of channel, by POST and by WebSocket. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { customCall, DIALECTS } from '../dialects/scripted-answer.ts'
import { agentMessages, codex, items, setUpCodex } from './codex.ts'
import { carriers, instructions, results, textsOf, tools } from './read-request.ts'
import { createWorkspace, outputTail, startWorld, TOO_LONG, type Workspace, type World } from './world.ts'

const SUITE_MS = 90_000

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

const shell = (id: string, cmd: string) => ({ id, name: 'exec_command', input: JSON.stringify({ cmd }) })
const PATCH = '*** Begin Patch\n*** Add File: city.txt\n+Łódź\n*** End Patch\n'

const CASES = DIALECTS.flatMap((upstream) => [false, true].map((socket) => ({ upstream, socket })))

describe('Codex', { timeout: SUITE_MS }, () => {
  describe.each(CASES)('over $upstream, WebSocket: $socket', ({ upstream, socket }) => {
    beforeEach(() => {
      setUpCodex(workspace, world)
      if (!socket)
        workspace.edit('.codex/config.toml', 'supports_websockets = true', 'supports_websockets = false')
    })

    it('answers with text', async () => {
      world.answerWith({ text: 'Good morning.' })
      const run = await codex(workspace, upstream, 'Say good morning')
      expect(agentMessages(run), outputTail(run)).toEqual(['Good morning.'])
      expect(run.code).toBe(0)
      expect(run.events.at(-1)).toMatchObject({
        type: 'turn.completed',
        usage: { input_tokens: 100, cached_input_tokens: 40, output_tokens: 30, reasoning_output_tokens: 12 },
      })
      const [request] = world.requests()
      expect(world.requests().map(({ dialect }) => dialect)).toEqual([upstream])
      expect(request && textsOf(request).at(-1)).toEqual({ role: 'user', text: 'Say good morning' })
      expect(
        request && [...instructions(request), ...textsOf(request).map(({ text }) => text)].join(),
      ).toContain('Codex CLI')
      // Over a WebSocket Codex first prepares the conversation, without an upstream request.
      const lines = await world.logged(socket ? 2 : 1)
      expect(
        lines.map(({ endpoint, status, attempts }) => [endpoint, status, (attempts as []).length]),
      ).toEqual(
        socket
          ? [
              ['responses', 200, 0],
              ['responses', 200, 1],
            ]
          : [['responses', 200, 1]],
      )
    })

    it('runs the commands that the model asks for and returns their output', async () => {
      world.answerWith(
        {
          reasoning: 'Two places.',
          opaque: 'c2lnbmVk',
          text: 'I look.',
          calls: [
            shell('call_a', 'echo $((40+2)) > a.txt && cat a.txt'),
            shell('call_b', 'echo Łódź; exit 3'),
          ],
        },
        { text: 'Done.' },
      )
      const run = await codex(workspace, upstream, 'Look')
      expect(agentMessages(run), outputTail(run)).toEqual(['I look.', 'Done.'])
      expect(readFileSync(join(workspace.work, 'a.txt'), 'utf8')).toBe('42\n')
      const [, second] = world.requests()
      expect(second && results(second)).toEqual([
        { id: 'call_a', text: expect.stringMatching(/code 0\n[\s\S]*42\n$/) },
        { id: 'call_b', text: expect.stringMatching(/code 3\n[\s\S]*Łódź\n$/) },
      ])
      if (upstream !== 'chat') expect(second && carriers(second)).toEqual(['c2lnbmVk'])
      expect(world.requests()).toHaveLength(2)
    })

    it('applies a patch from a custom tool call', async () => {
      world.answerWith({ calls: [customCall('call_p', 'apply_patch', PATCH)] }, { text: 'Patched.' })
      const run = await codex(workspace, `gpt-5.5-${upstream}`, 'Patch')
      expect(agentMessages(run), outputTail(run)).toEqual(['Patched.'])
      expect(readFileSync(join(workspace.work, 'city.txt'), 'utf8')).toBe('Łódź\n')
      expect(items(run.events).map(({ type }) => type)).toContain('file_change')
      const [first, second] = world.requests()
      expect(first && tools(first)).toContain('apply_patch')
      expect(second && results(second)).toEqual([{ id: 'call_p', text: expect.stringContaining('city.txt') }])
    })

    it('calls namespaced tools that are declared in the conversation', async () => {
      const command = "text(await tools.exec_command({ cmd: 'echo $((6*7)) > n.txt; cat n.txt' }))"
      const code = `${command}\ntext(await tools.apply_patch(${JSON.stringify(PATCH)}))`
      world.answerWith({ calls: [customCall('call_e', 'functions__exec', code)] }, { text: 'Ran.' })
      const run = await codex(workspace, `gpt-6.1-sol-${upstream}`, 'Run')
      expect(agentMessages(run), outputTail(run)).toEqual(['Ran.'])
      expect(existsSync(join(workspace.work, 'n.txt')), outputTail(run)).toBe(true)
      expect(readFileSync(join(workspace.work, 'city.txt'), 'utf8')).toBe('Łódź\n')
      const [, second] = world.requests()
      expect(second && results(second)).toEqual([{ id: 'call_e', text: expect.stringContaining('42') }])
    })

    it('a later turn repeats the conversation', async () => {
      world.answerWith({ text: 'First.' }, { text: 'Second.' })
      await codex(workspace, upstream, 'One')
      const run = await codex(workspace, upstream, 'Two', true)
      expect(agentMessages(run), outputTail(run)).toEqual(['Second.'])
      const [, second] = world.requests()
      const texts = (second ? textsOf(second) : []).map(({ text }) => text)
      expect(texts.filter((text) => ['One', 'First.', 'Two'].includes(text))).toEqual([
        'One',
        'First.',
        'Two',
      ])
    })

    it('does not retry a conversation that is too long', async () => {
      world.answerWith(TOO_LONG)
      const run = await codex(workspace, upstream, 'Hello')
      expect(run.code).toBe(1)
      expect(run.output).toContain('ran out of room in the model')
      expect(world.requests()).toHaveLength(1)
    })
  })

  it('reports a wrong key', async () => {
    setUpCodex(workspace, world)
    workspace.edit('.codex/config.toml', 'SLUICE_API_KEY', 'WRONG_API_KEY')
    workspace.edit('.codex/config.toml', 'supports_websockets = true', 'supports_websockets = false')
    world.answerWith()
    const run = await codex(workspace, 'chat', 'Hello')
    expect(run.code).toBe(1)
    expect(run.output).toContain('401')
    expect(world.requests()).toEqual([])
  })

  it('retries a failing upstream as often as the settings say', async () => {
    setUpCodex(workspace, world)
    workspace.edit('.codex/config.toml', 'supports_websockets = true', 'supports_websockets = false')
    world.answerWith()
    const run = await codex(workspace, 'chat', 'Hello')
    expect(run.code).toBe(1)
    expect(run.output).toContain('502')
    expect(world.requests()).toHaveLength(3)
  })
})
