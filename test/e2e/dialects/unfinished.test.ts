/** Answers that an upstream broke off, read by the official SDKs: none of their calls may be run. */
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NAME, streamedCall, wholeCall } from '../../conformance/dialects/broken-calls.ts'
import { type RunningGateway, startGateway } from '../../harness/gateway.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { anthropic, collect, HELLO, openai, rejection } from '../../harness/sdk.ts'
import { json, type Script, type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'

const KEY = 'sk-unfinished-0123456789'
const HALF = '{"path": "/tmp'
const SCHEMA = { type: 'object' as const, properties: { path: { type: 'string' as const } } }

let chat: ScriptedUpstream
let messages: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  ;[chat, messages] = await Promise.all([startUpstream(), startUpstream()])
  const calm = { ejection: { consecutiveFailures: 0 } }
  const once = { retry: { attempts: 1 } }
  gateway = await startGateway({
    'all.yaml': [
      channel('chat', chat.baseURL, calm),
      channel('silent', chat.baseURL, { ...calm, features: { finishReason: false } }),
      channel('messages', messages.baseURL, { ...calm, type: 'messages' }),
      route('chat', 'chat', ['chat'], once),
      route('silent', 'silent', ['silent'], once),
      route('messages', 'messages', ['messages'], once),
      route('both', 'both', ['chat', { name: 'messages', priority: 1 }]),
      apiKey('key', KEY),
    ].join(''),
  })
})

afterAll(async () => {
  await gateway?.stop()
  await Promise.all([chat?.close(), messages?.close()])
})

const sends =
  (text: string): Script =>
  (_call, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.end(text)
  }
const answers =
  (value: object): Script =>
  (_call, res) =>
    json(res, 200, value)
const chunk = (delta: object) => `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta }] })}\n\n`
const callOf = (args: string) => ({
  tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: NAME, arguments: args } }],
})
const DONE = 'data: [DONE]\n\n'

/** A client's tool that records its inputs. */
function deleter() {
  const runs: unknown[] = []
  const run = (input: unknown) => {
    runs.push(input)
    return 'deleted'
  }
  return { runs, run }
}

describe('[DONE] after an unfinished answer', () => {
  it.each([
    ['half a call', callOf(HALF)],
    ['a whole call', callOf('{}')],
    ['half a text', { content: 'The answer is' }],
  ])('%s is an error', async (_, delta) => {
    chat.answer(sends(chunk({ role: 'assistant' }) + chunk(delta) + DONE))
    const request = { model: 'chat', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hi' }] }
    const message = anthropic(gateway.base, KEY).messages.stream(request).finalMessage()
    expect(await rejection(message)).toMatchObject({ error: { error: { code: 'upstream_error' } } })
    const events = openai(gateway.base, KEY).responses.stream({ model: 'chat', input: 'Hi' })
    const types = (await collect(events)).map(({ type }) => type)
    expect(types.at(-1)).toBe('response.failed')
    expect(types).not.toContain('response.output_item.done')
  })

  it('is accepted on a channel without finish reasons', async () => {
    chat.answer(sends(chunk({ role: 'assistant' }) + chunk({ content: 'All of it' }) + DONE))
    const request = { model: 'silent', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hi' }] }
    const { content, stop_reason } = await anthropic(gateway.base, KEY)
      .messages.stream(request)
      .finalMessage()
    expect({ content, stop_reason }).toMatchObject({
      content: [{ text: 'All of it' }],
      stop_reason: 'end_turn',
    })
  })
})

it('falls over when the arguments of a call are broken', async () => {
  chat.answer(answers(wholeCall('chat', HALF, 'calls')))
  messages.answer(answers(wholeCall('messages', '{"path":"/tmp"}', 'calls')))
  const { output } = await openai(gateway.base, KEY).responses.create({ model: 'both', input: 'Hi' })
  expect(output).toMatchObject([{ type: 'function_call', arguments: '{"path":"/tmp"}' }])
})

describe('a call that the output limit cut off', () => {
  it.each([false, true])('is not run by the messages tool runner (stream: %s)', async (stream) => {
    const { runs, run } = deleter()
    const before = chat.calls.length
    chat.answer(
      stream ? sends(streamedCall('chat', [HALF], 'limit')) : answers(wholeCall('chat', HALF, 'limit')),
    )
    const tool = betaTool({ name: NAME, description: 'Deletes', inputSchema: SCHEMA, run })
    const { beta } = anthropic(gateway.base, KEY)
    const runner = beta.messages.toolRunner({
      model: 'chat',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [tool],
      ...(stream ? { stream: true, runToolsEagerly: true } : {}),
    })
    expect(await runner.runUntilDone()).toMatchObject({ stop_reason: 'max_tokens' })
    expect([runs, chat.calls.length - before]).toEqual([[], 1])
  })

  it('is not run by the chat tool runner', async () => {
    const { runs, run } = deleter()
    messages.answer(answers(wholeCall('messages', HALF, 'limit')))
    const runner = openai(gateway.base, KEY).chat.completions.runTools({
      model: 'messages',
      messages: HELLO,
      // Without `parse` the runner passes the arguments on as they are.
      tools: [
        {
          type: 'function',
          function: { name: NAME, description: 'Deletes', parameters: SCHEMA, function: run },
        },
      ],
    })
    expect(String(await rejection(runner.finalChatCompletion()))).toContain('length limit')
    expect(runs).toEqual([])
  })

  it.each([false, true])('is an incomplete item in responses (stream: %s)', async (stream) => {
    chat.answer(
      stream ? sends(streamedCall('chat', [HALF], 'limit')) : answers(wholeCall('chat', HALF, 'limit')),
    )
    const { responses } = openai(gateway.base, KEY)
    const request = { model: 'chat', input: 'Hi' }
    const response = stream
      ? await responses.stream(request).finalResponse()
      : await responses.create(request)
    expect(response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ type: 'function_call', status: 'incomplete', arguments: HALF }],
    })
  })
})
