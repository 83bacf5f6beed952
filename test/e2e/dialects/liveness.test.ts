/** For every pair of dialects: streams arrive without delay, and a client that leaves ends the upstream's answer. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../harness/gateway.ts'
import { jsonHeaders, open } from '../../harness/http.ts'
import { type DialectName, PAIRS, type ScriptedAnswer } from './scripted-answer.ts'
import { answerEvents } from './scripted-upstream.ts'
import { ask, KEY, question, startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld('', undefined, { SLUICE_STREAM_KEEPALIVE: '40ms' })
})
afterAll(() => world?.close())

const PATHS = { chat: 'chat/completions', responses: 'responses', messages: 'messages' }
/** The keep-alive of each dialect: an event in messages, a comment where clients reject unknown events. */
const KEEP_ALIVE = { chat: /^:/gm, responses: /^:/gm, messages: /^event: ping$/gm }

/** The deltas of text, reasoning and arguments that the SDK emits. */
async function* deltas(client: DialectName, model: string, signal?: AbortSignal): AsyncGenerator<string> {
  const { chat, responses, messages } = question('Hello')
  if (client === 'chat') {
    const stream = await world.openai.chat.completions.create({ ...chat, model, stream: true }, { signal })
    for await (const { choices } of stream) {
      const delta = choices[0]?.delta as { reasoning_content?: string } | undefined
      const args = choices[0]?.delta.tool_calls?.[0]?.function?.arguments
      yield choices[0]?.delta.content || delta?.reasoning_content || args || ''
    }
  } else if (client === 'messages') {
    const stream = await world.anthropic.messages.create({ ...messages, model, stream: true }, { signal })
    for await (const event of stream) {
      if (event.type !== 'content_block_delta') continue
      const { delta } = event
      if (delta.type === 'text_delta') yield delta.text
      if (delta.type === 'thinking_delta') yield delta.thinking
      if (delta.type === 'input_json_delta') yield delta.partial_json
    }
  } else {
    const stream = await world.openai.responses.create({ ...responses, model, stream: true }, { signal })
    for await (const event of stream)
      if ('delta' in event && typeof event.delta === 'string') yield event.delta
  }
}

const ANSWERS: [string, ScriptedAnswer][] = [
  ['text', { text: 'One two three four five' }],
  ['reasoning', { reasoning: 'Hm.', text: 'Yes indeed' }],
  ['arguments', { calls: [{ id: 'c', name: 'f', input: '{"city":"a name of some length"}' }] }],
]

describe.each(PAIRS)('$client over $upstream', ({ client, upstream }) => {
  it.each(ANSWERS)('%s: delivers each delta before the next one', async (_name, answer) => {
    const events = answerEvents(upstream, answer)
    const hasDelta = (event: string) => /One |Hm\.|Yes |\{\\"city/.test(event)
    const first = events.findIndex(hasDelta)
    let received = (): void => undefined
    const firstReceived = new Promise<void>((resolve) => {
      received = resolve
    })
    world.upstream.answer(async (_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(events.slice(0, first + 1).join(''))
      // The rest is sent only once the client has this delta: if the gateway holds it back, the test never ends.
      await firstReceived
      res.end(events.slice(first + 1).join(''))
    })
    const all: string[] = []
    for await (const piece of deltas(client, upstream)) {
      all.push(piece)
      if (piece !== '') received()
    }
    const { text = '', reasoning = '', calls = [] } = answer
    expect(all.join('')).toBe(reasoning + text + calls.map(({ input }) => input).join(''))
  })

  it('closes the upstream call when the client leaves', async () => {
    const begun = answerEvents(upstream, { text: 'One two three' }).slice(0, -2)
    world.upstream.answer((_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(begun.join(''))
    })
    const leave = new AbortController()
    for await (const piece of deltas(client, upstream, leave.signal)) {
      if (piece === '') continue
      leave.abort()
      break
    }
    await until(() => world.upstream.calls.at(-1)?.aborted, 'the upstream to see the end')
  })

  it('fills silence with keep-alives that strict clients accept', async () => {
    const events = answerEvents(upstream, { text: 'One two three' })
    let endSilence = (): void => undefined
    const silence = new Promise<void>((resolve) => {
      endSilence = resolve
    })
    world.upstream.answer(async (_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(events.slice(0, -2).join(''))
      await silence
      res.end(events.slice(-2).join(''))
    })
    const strict = ask(world, client, upstream, question('Hello'), true)
    const body = JSON.stringify({ ...question('Hello')[client], model: upstream, stream: true })
    const url = `${world.gateway.base}/v1/${PATHS[client]}`
    let text = ''
    for await (const bytes of await open(url, { body, headers: jsonHeaders(KEY) })) {
      text += bytes
      // One ping may be the upstream's; by then the strict client has received as many.
      if ((text.match(KEEP_ALIVE[client])?.length ?? 0) > 2) endSilence()
    }
    expect((await strict).text).toBe('One two three')
  })
})
