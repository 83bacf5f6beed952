/**
 * Every cell with an upstream that others wrote (@copilotkit/aimock), as it is and in its moods: it answers with broken
 * JSON, breaks off in mid-stream, refuses and fails. None of that may look like an answer.
 */
import Anthropic from '@anthropic-ai/sdk'
import { LLMock } from '@copilotkit/aimock'
import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { runTools } from './agents.ts'
import { askParsed, IMAGES, OBJECT, PDFS, STOP } from './requests.ts'
import { CELLS } from './scripted-answer.ts'
import { ask, question, type RequestParams, startWorld, type World } from './world.ts'

const mock = new LLMock({ port: 0, chunkSize: 5 })
let world: World

beforeAll(async () => {
  const usage = { input_tokens: 21, output_tokens: 9 }
  mock.onMessage('Hello', { content: 'Good day, Łódź 🌧 to you all.', usage })
  mock.onMessage('Think', {
    content: 'Forty-two.',
    reasoning: 'Let me count.',
    reasoningSignature: 'c2lnbmVk',
  })
  mock.onMessage('What is here?', { content: 'A cat.' })
  mock.onMessage('Summarise', { content: 'A paper.' })
  mock.onMessage('Count', { content: 'one two END three' })
  mock.onMessage('Weather as JSON', { content: JSON.stringify(OBJECT) })
  mock.onMessage('Fail 429', {
    error: { message: 'slow down org-4711', type: 'rate_limit_error' },
    status: 429,
  })
  mock.onMessage('Fail 500', { error: { message: 'broken org-4711', type: 'server_error' }, status: 500 })
  mock.on(
    { userMessage: /Weather in Ulm and/, hasToolResult: false },
    {
      content: 'Let me look.',
      toolCalls: [
        { id: 'call_u', name: 'weather', arguments: '{"city":"Ulm"}' },
        { id: 'call_l', name: 'weather', arguments: '{"city":"Łódź"}' },
      ],
    },
  )
  mock.on({ userMessage: /Weather in Ulm and/, hasToolResult: true }, { content: '20 degrees in both.' })
  await mock.start()
  world = await startWorld('', `${mock.url}/v1`)
})
afterEach(() => {
  mock.clearChaos()
})
afterAll(async () => {
  await world?.close()
  await mock.stop()
})

describe.each(CELLS)('$client over $upstream, stream: $stream', ({ client, upstream, stream }) => {
  const asked = (params: RequestParams) => ask(world, client, upstream, params, stream)
  const passed = (...features: Parameters<World['passed']>[2][]) => {
    for (const feature of features) world.passed(client, upstream, feature)
  }

  it('text and usage', async () => {
    const { text, counts } = await asked(question('Hello'))
    expect(text).toBe('Good day, Łódź 🌧 to you all.')
    expect(counts).toMatchObject({ input: 21, output: 9 })
    passed(stream ? 'stream' : 'JSON', 'usage')
  })

  it('two tools and the end', async () => {
    const { text, asked: cities } = await runTools(world, client, upstream, stream, false)
    expect(text).toBe('20 degrees in both.')
    expect(cities.toSorted()).toEqual(['Ulm', 'Łódź'])
    passed('tools', 'parallel tools')
  })

  it('reasoning', async () => {
    expect(await asked(question('Think'))).toMatchObject({ text: 'Forty-two.', reasoning: 'Let me count.' })
    passed('reasoning')
  })

  it('an image and a PDF', async () => {
    expect((await asked(IMAGES)).text).toBe('A cat.')
    passed('image')
    expect((await asked(PDFS)).text).toBe('A paper.')
    passed('PDF')
  })

  it('an object of a given shape', async () => {
    expect(await askParsed(world, client, upstream, stream)).toEqual(OBJECT)
    passed('structured output')
  })

  it('stop sequences', async () => {
    // It knows of none: only before an upstream that has none does the gateway cut by itself.
    const cut = client !== 'responses' && upstream === 'responses'
    expect((await asked(STOP)).text).toBe(cut ? 'one two ' : 'one two END three')
    passed('stop')
  })

  it.each(['Fail 429', 'Fail 500'])('%s', async (wish) => {
    const error = await asked(question(wish)).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(
      client === 'messages' ? Anthropic.InternalServerError : OpenAI.InternalServerError,
    )
    expect(JSON.stringify(error)).not.toContain('4711')
    passed('upstream error')
  })

  const MOODS = [
    ['broken JSON', { malformedRate: 1 }],
    ['500', { dropRate: 1 }],
    ['429', { rateLimitRate: 1 }],
    ['a connection that breaks', { disconnectRate: 1 }],
  ] as const

  it.each(MOODS)('%s is an error, and the next answer is right', async (_name, mood) => {
    mock.setChaos(mood)
    const error = await asked(question('Hello')).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(
      client === 'messages' ? Anthropic.InternalServerError : OpenAI.InternalServerError,
    )
    mock.clearChaos()
    expect((await asked(question('Hello'))).text).toBe('Good day, Łódź 🌧 to you all.')
  })
})

describe.each(CELLS.filter(({ stream }) => stream))('$client over $upstream', ({ client, upstream }) => {
  it('breaks off in mid-stream', async () => {
    const model = upstream
    mock.prependFixture({
      match: { userMessage: 'Break off' },
      response: { content: 'One two three four five six seven' },
      disconnectAfterMs: 30,
      latency: 12,
      chunkSize: 4,
    })
    const answer = await ask(world, client, model, question('Break off'), true).catch((e: unknown) => e)
    if (client === 'responses' && !(answer instanceof Error)) expect(answer).toMatchObject({ end: 'failed' })
    else expect(answer).toBeInstanceOf(Error)
    world.passed(client, upstream, 'cut stream')
  })
})

it('moods of one request in two harm none of the others', async () => {
  mock.setChaos({ dropRate: 0.2, malformedRate: 0.2, disconnectRate: 0.2 })
  const outcomes = await Promise.all(
    Array.from({ length: 10 }, () => CELLS)
      .flat()
      .map(({ client, upstream, stream }) =>
        ask(world, client, upstream, question('Hello'), stream).then(
          ({ text }) => text,
          (error: unknown) => error,
        ),
      ),
  )
  const answers = outcomes.filter((outcome) => typeof outcome === 'string')
  const errors = outcomes.filter((outcome) => typeof outcome !== 'string')
  expect(new Set(answers)).toEqual(new Set(['Good day, Łódź 🌧 to you all.']))
  expect(errors.length).toBeGreaterThan(0)
  for (const error of errors) expect(error).toMatchObject({ status: 502 })
})
