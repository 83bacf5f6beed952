/**
 * Every client and upstream dialect with a third-party mock upstream (@copilotkit/aimock), normal and with faults: broken
 * JSON, streams cut off, refusals and failures. None of these may look like an answer.
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
  const send = (params: RequestParams) => ask(world, client, upstream, params, stream)
  const passed = (...features: Parameters<World['passed']>[2][]) => {
    for (const feature of features) world.passed(client, upstream, feature)
  }

  it('returns text and usage', async () => {
    const { text, counts } = await send(question('Hello'))
    expect(text).toBe('Good day, Łódź 🌧 to you all.')
    expect(counts).toMatchObject({ input: 21, output: 9 })
    passed(stream ? 'stream' : 'JSON', 'usage')
  })

  it('runs two tools', async () => {
    const { text, cities } = await runTools(world, client, upstream, stream, false)
    expect(text).toBe('20 degrees in both.')
    expect(cities.toSorted()).toEqual(['Ulm', 'Łódź'])
    passed('tools', 'parallel tools')
  })

  it('returns reasoning', async () => {
    expect(await send(question('Think'))).toMatchObject({ text: 'Forty-two.', reasoning: 'Let me count.' })
    passed('reasoning')
  })

  it('takes an image and a PDF', async () => {
    expect((await send(IMAGES)).text).toBe('A cat.')
    passed('image')
    expect((await send(PDFS)).text).toBe('A paper.')
    passed('PDF')
  })

  it('returns an object of a given shape', async () => {
    expect(await askParsed(world, client, upstream, stream)).toEqual(OBJECT)
    passed('structured output')
  })

  it('applies stop sequences', async () => {
    // The mock ignores them; the gateway applies them itself only over responses.
    const cut = client !== 'responses' && upstream === 'responses'
    expect((await send(STOP)).text).toBe(cut ? 'one two ' : 'one two END three')
    passed('stop')
  })

  it.each(['Fail 429', 'Fail 500'])('%s', async (prompt) => {
    const error = await send(question(prompt)).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(
      client === 'messages' ? Anthropic.InternalServerError : OpenAI.InternalServerError,
    )
    // Not the number alone: ids of requests are hexadecimal.
    expect(JSON.stringify(error)).not.toContain('org-4711')
    passed('upstream error')
  })

  const FAULTS = [
    ['broken JSON', { malformedRate: 1 }],
    ['500', { dropRate: 1 }],
    ['429', { rateLimitRate: 1 }],
    ['a connection that breaks', { disconnectRate: 1 }],
  ] as const

  it.each(FAULTS)('%s is an error, and the next answer is right', async (_name, fault) => {
    mock.setChaos(fault)
    const error = await send(question('Hello')).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(
      client === 'messages' ? Anthropic.InternalServerError : OpenAI.InternalServerError,
    )
    mock.clearChaos()
    expect((await send(question('Hello'))).text).toBe('Good day, Łódź 🌧 to you all.')
  })
})

describe.each(CELLS.filter(({ stream }) => stream))('$client over $upstream', ({ client, upstream }) => {
  it('reports a stream that breaks off', async () => {
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

it('faults in half of the requests do not affect the others', async () => {
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
