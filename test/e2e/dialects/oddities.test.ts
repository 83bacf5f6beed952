/** Odd answers of real upstreams, read by the SDKs of other dialects, and by the same one where the gateway rewrites. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { route } from '../../harness/resources.ts'
import { json } from '../../harness/upstream.ts'
import { CHAT } from './oddities-chat.ts'
import { MESSAGES } from './oddities-messages.ts'
import { RESPONSES } from './oddities-responses.ts'
import { framed } from './oddity.ts'
import { ask, openRoom, question, type Room } from './room.ts'
import { DIALECTS } from './story.ts'
import { stream } from './tell.ts'

const ODDITIES = [...CHAT, ...RESPONSES, ...MESSAGES]

let room: Room
beforeAll(async () => {
  const more = DIALECTS.map((name) => route(`named-${name}`, `named-${name}`, [name], { rewriteModel: true }))
  room = await openRoom(more.join(''))
})
afterAll(() => room?.close())

describe.each(DIALECTS)('read by %s', (client) => {
  it.each(ODDITIES.filter(({ upstream }) => upstream !== client))('$upstream: $name', async (oddity) => {
    const { upstream, body, text = '', reasoning = '', calls = [], counts } = oddity
    room.upstream.answer((_call, res) =>
      body === undefined ? stream(res, [framed(oddity)]) : json(res, 200, body),
    )
    const seen = await ask(room, client, `named-${upstream}`, question('Hello'), body === undefined)
    expect({ text: seen.text, reasoning: seen.reasoning }).toEqual({ text, reasoning })
    expect(seen.calls.map(({ name, input }) => [name, input])).toEqual(calls)
    expect(seen.calls.filter(({ id }) => id === '')).toEqual([])
    if (calls.length > 0)
      expect(seen.end).toBe({ chat: 'tool_calls', responses: 'completed', messages: 'tool_use' }[client])
    if (counts) expect(seen.counts).toMatchObject(counts)
  })
})
