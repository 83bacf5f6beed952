/** Claude Code over each type of channel. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DIALECTS } from '../dialects/story.ts'
import { claude, type KeyVariable, outcome } from './claude.ts'
import { ABSENT, AGENTS_ARE_HERE } from './install.ts'
import { instructions, results, said, thoughts, tools } from './read.ts'
import { type Desk, type Json, openDesk, openRoom, type Room, TOO_LONG, why } from './room.ts'

const SUITE_MS = 90_000

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

const KEYS: KeyVariable[] = ['ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_API_KEY']

describe.skipIf(!AGENTS_ARE_HERE)(`Claude Code${ABSENT}`, { timeout: SUITE_MS }, () => {
  describe.each(DIALECTS)('over %s', (upstream) => {
    it.each(KEYS)('a turn of text, the key from %s', async (key) => {
      room.plays({ text: 'Good morning.' })
      const run = await claude(desk, room, upstream, 'Say good morning', { key })
      expect(outcome(run), why(run)).toMatchObject({
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
      const [asked] = room.asked()
      expect(room.asked().map(({ dialect }) => dialect)).toEqual([upstream])
      const texts = asked ? said(asked) : []
      expect(texts).toContainEqual({ role: 'user', text: 'Say good morning' })
      // It describes its surroundings after the question.
      expect(texts.at(-1)?.text).toContain('# Environment')
      expect(texts.at(-1)?.role).toMatch(/^(system|developer)$/)
      expect(asked && [...instructions(asked), ...texts.map(({ text }) => text)].join()).toContain(
        'Claude agent',
      )
    })

    it('commands and files that the model asks for', async () => {
      writeFileSync(join(desk.work, 'city.txt'), 'Łódź\n')
      room.plays(
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
            { id: 'call_r', name: 'Read', input: JSON.stringify({ file_path: join(desk.work, 'city.txt') }) },
          ],
        },
        { text: 'Done.' },
      )
      const run = await claude(desk, room, `claude-opus-5-${upstream}`, 'Look', { tools: ['Bash', 'Read'] })
      expect(outcome(run), why(run)).toMatchObject({ subtype: 'success', num_turns: 3, result: 'Done.' })
      expect(readFileSync(join(desk.work, 'a.txt'), 'utf8')).toBe('42\n')
      const [first, second] = room.asked()
      expect(first && tools(first)).toEqual(expect.arrayContaining(['Bash', 'Read', 'Edit', 'Write']))
      expect(second && results(second)).toEqual([
        { id: 'call_b', text: expect.stringContaining('42') },
        { id: 'call_r', text: expect.stringContaining('Łódź') },
      ])
      if (upstream !== 'chat') expect(second && thoughts(second)).toEqual(['c2lnbmVk'])
      expect(room.asked()).toHaveLength(2)
    })

    it('a failure is told, and not tried again', async () => {
      room.plays()
      const run = await claude(desk, room, upstream, 'Hello')
      expect(run.code).toBe(1)
      expect(outcome(run), why(run)).toMatchObject({ is_error: true, api_error_status: 502 })
      expect(room.asked()).toHaveLength(1)
    })

    it('a question that is too long is told with its numbers', async () => {
      room.plays(TOO_LONG)
      const run = await claude(desk, room, upstream, 'First?')
      const result = expect.stringContaining('~130000 tokens (limit 128000)')
      expect(outcome(run), why(run)).toMatchObject({ terminal_reason: 'prompt_too_long', result })
      expect(room.asked()).toHaveLength(1)
    })

    it('a conversation that is too long is summarised', async () => {
      const model = `claude-opus-5-${upstream}`
      room.plays(
        { text: 'One.' },
        TOO_LONG,
        { text: '<summary>We spoke of one.</summary>' },
        { text: 'Two.' },
      )
      await claude(desk, room, model, 'First?')
      const run = await claude(desk, room, model, 'Second?', { goOn: true })
      expect(outcome(run), why(run)).toMatchObject({ is_error: false, result: 'Two.' })
      const last = room.asked().at(-1)
      expect(room.asked()).toHaveLength(4)
      const texts = (last ? said(last) : []).map(({ text }) => text)
      expect(texts).not.toContain('One.')
      expect(texts.filter((text) => text.includes('We spoke of one.'))).toHaveLength(1)
    })

    it('what fills the context is counted', async () => {
      room.plays()
      const run = await claude(desk, room, `claude-opus-5-${upstream}`, '/context')
      expect(outcome(run), why(run)).toMatchObject({ subtype: 'success' })
      const lines = await room.logged(2)
      const counts = lines.filter(({ endpoint }) => endpoint === 'count_tokens')
      expect(counts.length).toBeGreaterThan(5)
      expect(counts.every(({ status }) => status === 200)).toBe(true)
      const asked = counts.filter(({ attempts }) => (attempts as Json[]).length > 0)
      expect(asked).toHaveLength(upstream === 'messages' ? counts.length : 0)
    })
  })

  it('its betas and its attribution reach an upstream of its own API, and no other', async () => {
    room.plays({ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' })
    for (const upstream of DIALECTS) await claude(desk, room, `claude-opus-5-${upstream}`, 'Hello')
    const [chat, responses, messages] = room.asked()
    expect(messages?.headers['anthropic-beta']).toMatch(/claude-code-\d+/)
    expect(messages && instructions(messages)[0]).toMatch(/^x-anthropic-billing-header: /)
    expect(messages?.body).toHaveProperty('context_management')
    for (const foreign of [chat, responses]) {
      expect(foreign?.headers).not.toHaveProperty('anthropic-beta')
      expect(JSON.stringify(foreign?.body)).not.toContain('x-anthropic-billing-header')
      expect(foreign?.body).not.toHaveProperty('context_management')
    }
  })

  it('finds the models that it takes for its own', async () => {
    room.plays({ text: 'Found.' })
    await claude(desk, room, 'chat', 'Hello')
    const file = join(desk.home, '.claude/cache/gateway-models.json')
    const { models } = JSON.parse(readFileSync(file, 'utf8')) as { models: Json[] }
    expect(models.map(({ id }) => id)).toEqual([
      'claude-opus-5-chat',
      'claude-opus-5-messages',
      'claude-opus-5-plain',
      'claude-opus-5-responses',
    ])
  })

  it('a wrong key is told at once', async () => {
    room.plays()
    const run = await claude(desk, room, 'chat', 'Hello', { secret: 'sk-wrong-0123456789' })
    expect(outcome(run), why(run)).toMatchObject({ is_error: true, api_error_status: 401 })
    const lines = await room.logged(1)
    expect(lines.filter(({ status }) => status === 401).map(({ endpoint }) => endpoint)).toEqual([
      'models',
      'messages',
    ])
    expect(room.asked()).toEqual([])
  })
})
