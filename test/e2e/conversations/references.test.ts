/** References to items of stored answers, which the AI SDK sends by default. */
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, tool } from 'ai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type RunningGateway, startGateway } from '../../harness/gateway.ts'
import { call } from '../../harness/http.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'
import { scripted } from '../dialects/scripted-upstream.ts'

const KEY = 'sk-references-0123456789'
const OTHER = 'sk-references-9876543210'

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await startUpstream()
  gateway = await startGateway({
    'all.yaml': [
      apiKey('key', KEY),
      apiKey('other', OTHER),
      channel('chat', upstream.baseURL, { type: 'chat_completion' }),
      channel('messages', upstream.baseURL.replace(/\/v1$/, ''), { type: 'messages' }),
      route('chat', 'chat', ['chat']),
      route('messages', 'messages', ['messages']),
    ].join(''),
  })
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

describe.each(['chat', 'messages'])('over %s', (model) => {
  it('an agent runs several steps', async () => {
    upstream.answer(
      scripted((body) => {
        const text = JSON.stringify(body)
        if (!text.includes('sunny'))
          return {
            text: 'Let me look.',
            calls: [{ id: 'call_1', name: 'weather', input: '{"city":"Oslo"}' }],
          }
        return { text: 'It is sunny in Oslo.' }
      }),
    )
    const openai = createOpenAI({ baseURL: `${gateway.base}/v1`, apiKey: KEY })
    const { text, steps } = await generateText({
      model: openai.responses(model),
      prompt: 'What is the weather?',
      stopWhen: isStepCount(3),
      tools: {
        weather: tool({
          inputSchema: z.object({ city: z.string() }),
          execute: async ({ city }) => `sunny in ${city}`,
        }),
      },
    })
    expect(steps).toHaveLength(2)
    expect(text).toBe('It is sunny in Oslo.')
    const sent = upstream.calls.at(-1)?.body.toString() ?? ''
    expect(sent).toContain('Let me look.')
    expect(sent).toContain('sunny in Oslo')
  })

  it('does not resolve references to another owner’s items', async () => {
    upstream.answer(scripted({ text: 'A secret answer' }))
    const ask = (key: string, input: unknown) =>
      call(`${gateway.base}/v1/responses`, {
        body: JSON.stringify({ model, input }),
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      })
    const { output } = JSON.parse((await ask(KEY, 'Hi')).text) as { output: { id: string }[] }
    const again = [
      { type: 'item_reference', id: output[0]?.id },
      { role: 'user', content: 'More' },
    ]
    const before = upstream.calls.length
    expect(await ask(OTHER, again)).toMatchObject({ status: 400, text: expect.stringContaining('not found') })
    expect(upstream.calls.length).toBe(before)
    expect(await ask(KEY, again)).toMatchObject({ status: 200 })
    expect(upstream.calls.at(-1)?.body.toString()).toContain('A secret answer')
  })
})
