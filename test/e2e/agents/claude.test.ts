/** Claude Code over each type of channel. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DIALECTS } from '../dialects/scripted-answer.ts'
import { claude, type KeyVariable, outcome } from './claude.ts'
import { carriers, instructions, results, textsOf, tools } from './read-request.ts'
import {
  createWorkspace,
  type Json,
  outputTail,
  REFUSED,
  startWorld,
  TOO_LONG,
  type Workspace,
  type World,
} from './world.ts'

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

const KEYS: KeyVariable[] = ['ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_API_KEY']

describe('Claude Code', { timeout: SUITE_MS }, () => {
  describe.each(DIALECTS)('over %s', (upstream) => {
    it.each(KEYS)('answers with text, the key from %s', async (key) => {
      world.answerWith({ text: 'Good morning.' })
      const run = await claude(workspace, world, upstream, 'Say good morning', { key })
      expect(outcome(run), outputTail(run)).toMatchObject({
        subtype: 'success',
        is_error: false,
        result: 'Good morning.',
        usage: {
          input_tokens: 50,
          cache_read_input_tokens: 40,
          cache_creation_input_tokens: 10,
          output_tokens: 30,
        },
      })
      const [request] = world.requests()
      expect(world.requests().map(({ dialect }) => dialect)).toEqual([upstream])
      const texts = request ? textsOf(request) : []
      expect(texts).toContainEqual({ role: 'user', text: 'Say good morning' })
      // Claude Code describes its environment after the question.
      expect(texts.at(-1)?.text).toContain('# Environment')
      expect(texts.at(-1)?.role).toMatch(/^(system|developer)$/)
      expect(request && [...instructions(request), ...texts.map(({ text }) => text)].join()).toContain(
        'Claude agent',
      )
    })

    it('runs the commands and reads the files that the model asks for', async () => {
      writeFileSync(join(workspace.work, 'city.txt'), 'Łódź\n')
      world.answerWith(
        {
          reasoning: 'Two places.',
          opaque: 'c2lnbmVk',
          text: 'I look.',
          calls: [
            {
              id: 'call_b',
              name: 'Bash',
              input: '{"command":"echo $((40+2)) > a.txt && cat a.txt","description":"Adds"}',
            },
            {
              id: 'call_r',
              name: 'Read',
              input: JSON.stringify({ file_path: join(workspace.work, 'city.txt') }),
            },
          ],
        },
        { text: 'Done.' },
      )
      const run = await claude(workspace, world, `claude-opus-5-${upstream}`, 'Look', {
        tools: ['Bash', 'Read'],
      })
      expect(outcome(run), outputTail(run)).toMatchObject({
        subtype: 'success',
        num_turns: 3,
        result: 'Done.',
      })
      expect(readFileSync(join(workspace.work, 'a.txt'), 'utf8')).toBe('42\n')
      const [first, second] = world.requests()
      expect(first && tools(first)).toEqual(expect.arrayContaining(['Bash', 'Read', 'Edit', 'Write']))
      expect(second && results(second)).toEqual([
        { id: 'call_b', text: expect.stringContaining('42') },
        { id: 'call_r', text: expect.stringContaining('Łódź') },
      ])
      if (upstream !== 'chat') expect(second && carriers(second)).toEqual(['c2lnbmVk'])
      expect(world.requests()).toHaveLength(2)
    })

    it('reports a failure that a retry cannot fix, and does not retry', async () => {
      world.answerWith(REFUSED)
      const run = await claude(workspace, world, upstream, 'Hello')
      expect(run.code).toBe(1)
      expect(outcome(run), outputTail(run)).toMatchObject({ is_error: true, api_error_status: 502 })
      expect(world.requests()).toHaveLength(1)
    })

    it('reports a prompt that is too long with its token counts', async () => {
      world.answerWith(TOO_LONG)
      const run = await claude(workspace, world, upstream, 'First?')
      const result = expect.stringContaining('~130000 tokens (limit 128000)')
      expect(outcome(run), outputTail(run)).toMatchObject({ terminal_reason: 'prompt_too_long', result })
      expect(world.requests()).toHaveLength(1)
    })

    it('summarises a conversation that is too long', async () => {
      const model = `claude-opus-5-${upstream}`
      world.answerWith(
        { text: 'One.' },
        TOO_LONG,
        { text: '<summary>We spoke of one.</summary>' },
        { text: 'Two.' },
      )
      await claude(workspace, world, model, 'First?')
      const run = await claude(workspace, world, model, 'Second?', { resume: true })
      expect(outcome(run), outputTail(run)).toMatchObject({ is_error: false, result: 'Two.' })
      const last = world.requests().at(-1)
      expect(world.requests()).toHaveLength(4)
      const texts = (last ? textsOf(last) : []).map(({ text }) => text)
      expect(texts).not.toContain('One.')
      expect(texts.filter((text) => text.includes('We spoke of one.'))).toHaveLength(1)
    })

    it('counts the tokens of its context', async () => {
      world.answerWith()
      const run = await claude(workspace, world, `claude-opus-5-${upstream}`, '/context')
      expect(outcome(run), outputTail(run)).toMatchObject({ subtype: 'success' })
      const lines = await world.logged(2)
      const counts = lines.filter(({ endpoint }) => endpoint === 'count_tokens')
      expect(counts.length).toBeGreaterThan(5)
      expect(counts.every(({ status }) => status === 200)).toBe(true)
      const forwarded = counts.filter(({ attempts }) => (attempts as Json[]).length > 0)
      expect(forwarded).toHaveLength(upstream === 'messages' ? counts.length : 0)
    })
  })

  it('its betas and attribution reach a messages upstream only', async () => {
    world.answerWith({ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' })
    for (const upstream of DIALECTS) await claude(workspace, world, `claude-opus-5-${upstream}`, 'Hello')
    const [chat, responses, messages] = world.requests()
    expect(messages?.headers['anthropic-beta']).toMatch(/claude-code-\d+/)
    expect(messages && instructions(messages)[0]).toMatch(/^x-anthropic-billing-header: /)
    expect(messages?.body).toHaveProperty('context_management')
    for (const other of [chat, responses]) {
      expect(other?.headers).not.toHaveProperty('anthropic-beta')
      expect(JSON.stringify(other?.body)).not.toContain('x-anthropic-billing-header')
      expect(other?.body).not.toHaveProperty('context_management')
    }
  })

  it('lists the models that look like its own', async () => {
    world.answerWith({ text: 'Found.' })
    await claude(workspace, world, 'chat', 'Hello')
    const file = join(workspace.home, '.claude/cache/gateway-models.json')
    const { models } = JSON.parse(readFileSync(file, 'utf8')) as { models: Json[] }
    expect(models.map(({ id }) => id)).toEqual([
      'claude-opus-5-chat',
      'claude-opus-5-messages',
      'claude-opus-5-plain',
      'claude-opus-5-responses',
    ])
  })

  it('reports a wrong key at once', async () => {
    world.answerWith()
    const run = await claude(workspace, world, 'chat', 'Hello', { secret: 'sk-wrong-0123456789' })
    expect(outcome(run), outputTail(run)).toMatchObject({ is_error: true, api_error_status: 401 })
    const lines = await world.logged(2)
    const refused = lines.filter(({ status }) => status === 401).map(({ endpoint }) => endpoint)
    expect(refused.sort()).toEqual(['messages', 'models'])
    expect(world.requests()).toEqual([])
  })
})
