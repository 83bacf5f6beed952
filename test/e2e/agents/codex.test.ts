/** Codex over each type of channel, by POST and by WebSocket. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DIALECTS, freeCall } from '../dialects/story.ts'
import { codex, items, setUpCodex, shown } from './codex.ts'
import { ABSENT, AGENTS_ARE_HERE } from './install.ts'
import { instructions, results, said, thoughts, tools } from './read.ts'
import { type Desk, openDesk, openRoom, type Room, TOO_LONG, why } from './room.ts'

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

const shell = (id: string, cmd: string) => ({ id, name: 'exec_command', input: JSON.stringify({ cmd }) })
const PATCH = '*** Begin Patch\n*** Add File: city.txt\n+Łódź\n*** End Patch\n'

const WAYS = DIALECTS.flatMap((upstream) => [false, true].map((socket) => ({ upstream, socket })))

describe.skipIf(!AGENTS_ARE_HERE)(`Codex${ABSENT}`, { timeout: SUITE_MS }, () => {
  describe.each(WAYS)('over $upstream, WebSocket: $socket', ({ upstream, socket }) => {
    beforeEach(() => {
      setUpCodex(desk, room)
      if (!socket)
        desk.edit('.codex/config.toml', 'supports_websockets = true', 'supports_websockets = false')
    })

    it('a turn of text', async () => {
      room.plays({ text: 'Good morning.' })
      const run = await codex(desk, upstream, 'Say good morning')
      expect(shown(run), why(run)).toEqual(['Good morning.'])
      expect(run.code).toBe(0)
      expect(run.events.at(-1)).toMatchObject({
        type: 'turn.completed',
        usage: { input_tokens: 100, cached_input_tokens: 40, output_tokens: 30, reasoning_output_tokens: 12 },
      })
      const [asked] = room.asked()
      expect(room.asked().map(({ dialect }) => dialect)).toEqual([upstream])
      expect(asked && said(asked).at(-1)).toEqual({ role: 'user', text: 'Say good morning' })
      expect(asked && [...instructions(asked), ...said(asked).map(({ text }) => text)].join()).toContain(
        'Codex CLI',
      )
      // By socket it prepares the conversation first, which no upstream hears of.
      const lines = await room.logged(socket ? 2 : 1)
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

    it('commands that the model asks for, and their output', async () => {
      room.plays(
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
      const run = await codex(desk, upstream, 'Look')
      expect(shown(run), why(run)).toEqual(['I look.', 'Done.'])
      expect(readFileSync(join(desk.work, 'a.txt'), 'utf8')).toBe('42\n')
      const [, second] = room.asked()
      expect(second && results(second)).toEqual([
        { id: 'call_a', text: expect.stringMatching(/code 0\n[\s\S]*42\n$/) },
        { id: 'call_b', text: expect.stringMatching(/code 3\n[\s\S]*Łódź\n$/) },
      ])
      if (upstream !== 'chat') expect(second && thoughts(second)).toEqual(['c2lnbmVk'])
      expect(room.asked()).toHaveLength(2)
    })

    it('a patch in free text', async () => {
      room.plays({ calls: [freeCall('call_p', 'apply_patch', PATCH)] }, { text: 'Patched.' })
      const run = await codex(desk, `gpt-5.5-${upstream}`, 'Patch')
      expect(shown(run), why(run)).toEqual(['Patched.'])
      expect(readFileSync(join(desk.work, 'city.txt'), 'utf8')).toBe('Łódź\n')
      expect(items(run.events).map(({ type }) => type)).toContain('file_change')
      const [first, second] = room.asked()
      expect(first && tools(first)).toContain('apply_patch')
      expect(second && results(second)).toEqual([{ id: 'call_p', text: expect.stringContaining('city.txt') }])
    })

    it('tools in namespaces, which come within the conversation', async () => {
      const command = "text(await tools.exec_command({ cmd: 'echo $((6*7)) > n.txt; cat n.txt' }))"
      const code = `${command}\ntext(await tools.apply_patch(${JSON.stringify(PATCH)}))`
      room.plays({ calls: [freeCall('call_e', 'functions__exec', code)] }, { text: 'Ran.' })
      const run = await codex(desk, `gpt-6.1-sol-${upstream}`, 'Run')
      expect(shown(run), why(run)).toEqual(['Ran.'])
      expect(existsSync(join(desk.work, 'n.txt')), why(run)).toBe(true)
      expect(readFileSync(join(desk.work, 'city.txt'), 'utf8')).toBe('Łódź\n')
      const [, second] = room.asked()
      expect(second && results(second)).toEqual([{ id: 'call_e', text: expect.stringContaining('42') }])
    })

    it('a later turn, in which all is told again', async () => {
      room.plays({ text: 'First.' }, { text: 'Second.' })
      await codex(desk, upstream, 'One')
      const run = await codex(desk, upstream, 'Two', true)
      expect(shown(run), why(run)).toEqual(['Second.'])
      const [, second] = room.asked()
      const texts = (second ? said(second) : []).map(({ text }) => text)
      expect(texts.filter((text) => ['One', 'First.', 'Two'].includes(text))).toEqual([
        'One',
        'First.',
        'Two',
      ])
    })

    it('a conversation that is too long is not asked again', async () => {
      room.plays(TOO_LONG)
      const run = await codex(desk, upstream, 'Hello')
      expect(run.code).toBe(1)
      expect(run.output).toContain('ran out of room in the model')
      expect(room.asked()).toHaveLength(1)
    })
  })

  it('a wrong key is told', async () => {
    setUpCodex(desk, room)
    desk.edit('.codex/config.toml', 'SLUICE_API_KEY', 'WRONG_API_KEY')
    desk.edit('.codex/config.toml', 'supports_websockets = true', 'supports_websockets = false')
    room.plays()
    const run = await codex(desk, 'chat', 'Hello')
    expect(run.code).toBe(1)
    expect(run.output).toContain('401')
    expect(room.asked()).toEqual([])
  })

  it('an upstream that fails is asked as often as the settings say', async () => {
    setUpCodex(desk, room)
    desk.edit('.codex/config.toml', 'supports_websockets = true', 'supports_websockets = false')
    room.plays()
    const run = await codex(desk, 'chat', 'Hello')
    expect(run.code).toBe(1)
    expect(run.output).toContain('502')
    expect(room.asked()).toHaveLength(3)
  })
})
