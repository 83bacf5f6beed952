/** Odd answers of real upstreams, read by the SDKs of all dialects. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { route } from '../../harness/resources.ts'
import { json } from '../../harness/upstream.ts'
import { framed } from './quirk.ts'
import { CHAT } from './quirks-chat.ts'
import { MESSAGES } from './quirks-messages.ts'
import { RESPONSES } from './quirks-responses.ts'
import { DIALECTS } from './scripted-answer.ts'
import { stream } from './scripted-upstream.ts'
import { ask, question, startWorld, type World } from './world.ts'

const QUIRKS = [...CHAT, ...RESPONSES, ...MESSAGES]

let world: World
beforeAll(async () => {
  // The answers of equal dialects are rewritten too.
  const more = DIALECTS.map((name) => route(`named-${name}`, `named-${name}`, [name], { rewriteModel: true }))
  world = await startWorld(more.join(''))
})
afterAll(() => world?.close())

describe.each(DIALECTS)('read by %s', (client) => {
  it.each(QUIRKS.filter(({ upstream, otherDialectsOnly }) => !otherDialectsOnly || upstream !== client))(
    '$upstream: $name',
    async (quirk) => {
      const { upstream, body, text = '', reasoning = '', calls = [], counts } = quirk
      world.upstream.answer((_call, res) =>
        body === undefined ? stream(res, [framed(quirk)]) : json(res, 200, body),
      )
      const seen = await ask(world, client, `named-${upstream}`, question('Hello'), body === undefined)
      expect({ text: seen.text, reasoning: seen.reasoning }).toEqual({ text, reasoning })
      expect(seen.calls.map(({ name, input }) => [name, input])).toEqual(calls)
      expect(seen.calls.filter(({ id }) => id === '')).toEqual([])
      if (calls.length > 0)
        expect(seen.end).toBe({ chat: 'tool_calls', responses: 'completed', messages: 'tool_use' }[client])
      if (counts) expect(seen.counts).toMatchObject(counts)
    },
  )
})
