/** A stream is passed on as it comes, in every pair, and a client that leaves takes the upstream's answer with it. */
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
/** Only messages has an event for it; where clients refuse events that they do not know it is a comment. */
const SIGN = { chat: /^:/gm, responses: /^:/gm, messages: /^event: ping$/gm }

/** The pieces of text, reasoning and arguments, as the SDK of the client's dialect hands them on. */
async function* pieces(client: DialectName, model: string, signal?: AbortSignal): AsyncGenerator<string> {
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

const STORIES: [string, ScriptedAnswer][] = [
  ['text', { text: 'One two three four five' }],
  ['reasoning', { reasoning: 'Hm.', text: 'Yes indeed' }],
  ['arguments', { calls: [{ id: 'c', name: 'f', input: '{"city":"a name of some length"}' }] }],
]

describe.each(PAIRS)('$client over $upstream', ({ client, upstream }) => {
  it.each(STORIES)('%s: each piece before the next one', async (_name, story) => {
    const events = answerEvents(upstream, story)
    const said = (event: string) => /One |Hm\.|Yes |\{\\"city/.test(event)
    const first = events.findIndex(said)
    let seen = (): void => undefined
    const heard = new Promise<void>((resolve) => {
      seen = resolve
    })
    world.upstream.answer(async (_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(events.slice(0, first + 1).join(''))
      // The rest comes only when the client has this piece: what holds it back waits for ever.
      await heard
      res.end(events.slice(first + 1).join(''))
    })
    const all: string[] = []
    for await (const piece of pieces(client, upstream)) {
      all.push(piece)
      if (piece !== '') seen()
    }
    const { text = '', reasoning = '', calls = [] } = story
    expect(all.join('')).toBe(reasoning + text + calls.map(({ input }) => input).join(''))
  })

  it('a client that leaves', async () => {
    const begun = answerEvents(upstream, { text: 'One two three' }).slice(0, -2)
    world.upstream.answer((_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(begun.join(''))
    })
    const leave = new AbortController()
    for await (const piece of pieces(client, upstream, leave.signal)) {
      if (piece === '') continue
      leave.abort()
      break
    }
    await until(() => world.upstream.calls.at(-1)?.aborted, 'the upstream to see the end')
  })

  it('silence in the stream is filled with what strict clients accept', async () => {
    const events = answerEvents(upstream, { text: 'One two three' })
    let goOn = (): void => undefined
    const silence = new Promise<void>((resolve) => {
      goOn = resolve
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
      // One ping may be the upstream's own; the other client has as many by then.
      if ((text.match(SIGN[client])?.length ?? 0) > 2) goOn()
    }
    expect((await strict).text).toBe('One two three')
  })
})
