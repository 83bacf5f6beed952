/**
 * Codex when a conversation grows too long. With its own provider it asks the API for a compaction, which the upstream
 * makes or the gateway in its stead; with another one it asks the model for a summary.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { stream } from '../dialects/tell.ts'
import { codex, setUpAsHosted, setUpCodex, shown } from './codex.ts'
import { ABSENT, AGENTS_ARE_HERE } from './install.ts'
import { said, tools } from './read.ts'
import { type Asked, type Desk, type Json, openDesk, openRoom, type Room, why } from './room.ts'

const SUITE_MS = 90_000
/** Tokens: any answer is too long. */
const LIMIT = ['model_auto_compact_token_limit = 5']

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

const texts = (asked: Asked | undefined) => (asked === undefined ? [] : said(asked).map(({ text }) => text))

describe.skipIf(!AGENTS_ARE_HERE)(`compaction by Codex${ABSENT}`, { timeout: SUITE_MS }, () => {
  it.each([
    ['chat', 'chat'],
    ['plain', 'responses'],
    ['messages', 'messages'],
  ])('the gateway makes it, over %s', async (upstream, dialect) => {
    setUpAsHosted(desk, room, LIMIT)
    room.plays({ text: 'One.' }, { text: 'We spoke of one.' }, { text: 'Two.' })
    await codex(desk, `gpt-5.5-${upstream}`, 'First?')
    const run = await codex(desk, `gpt-5.5-${upstream}`, 'Second?', true)
    expect(shown(run), why(run)).toEqual(['Two.'])
    const [, summary, last] = room.asked()
    expect(room.asked().map((asked) => asked.dialect)).toEqual([dialect, dialect, dialect])
    expect(texts(summary)).toEqual(expect.arrayContaining(['First?', 'One.']))
    expect(texts(summary).at(-1)).toContain('Write the summary as plain text')
    // What was said is gone but for the summary; messages of the user stay.
    expect(texts(last)).not.toContain('One.')
    expect(texts(last).filter((text) => text.endsWith('We spoke of one.'))).toHaveLength(1)
    expect(texts(last).at(-1)).toBe('Second?')
  })

  it('the upstream makes it', async () => {
    setUpAsHosted(desk, room, LIMIT)
    const input = ({ body }: { body: Buffer }) => (JSON.parse(body.toString()) as { input: Json[] }).input
    room.plays({ text: 'One.' })
    await codex(desk, 'gpt-5.5-responses', 'First?')
    const compaction = { type: 'compaction', id: 'cmp_up', encrypted_content: 'c2VhbGVk' }
    const before = room.upstream.calls.length
    room.upstream.answer((call, res) => {
      const item = input(call).at(-1)?.type === 'compaction_trigger' ? compaction : message('Two.')
      stream(res, events(item))
    })
    const run = await codex(desk, 'gpt-5.5-responses', 'Second?', true)
    expect(shown(run), why(run)).toEqual(['Two.'])
    const [asked, last] = room.upstream.calls.slice(before).map(input)
    expect(asked?.at(-1)).toEqual({ type: 'compaction_trigger' })
    expect(last?.find(({ type }) => type === 'compaction')).toMatchObject({ encrypted_content: 'c2VhbGVk' })
    expect(JSON.stringify(last)).not.toContain('One.')
  })

  it('another provider’s model writes it', async () => {
    setUpCodex(desk, room, LIMIT)
    room.plays({ text: 'One.' }, { text: 'We spoke of one.' }, { text: 'Two.' })
    await codex(desk, 'gpt-5.5-chat', 'First?')
    const run = await codex(desk, 'gpt-5.5-chat', 'Second?', true)
    expect(shown(run), why(run)).toEqual(['Two.'])
    const [, summary, last] = room.asked()
    expect(summary && tools(summary)).toEqual([])
    expect(texts(last).filter((text) => text.endsWith('We spoke of one.'))).toHaveLength(1)
  })
})

const message = (text: string) => ({
  type: 'message',
  id: 'msg_up',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
})

/** The events of an answer with one item, as far as Codex reads them. */
function events(item: object): string[] {
  const event = (type: string, sequence_number: number, more: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...more })}\n\n`
  const id = 'resp_compacted'
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  return [
    event('response.created', 0, { response: { id, status: 'in_progress', output: [] } }),
    event('response.output_item.done', 1, { output_index: 0, item }),
    event('response.completed', 2, { response: { id, status: 'completed', output: [item], usage } }),
  ]
}
