/** Custom tools and namespaced tools, over every upstream. */
import type OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readResponses } from './read-answer.ts'
import { customCall, DIALECTS, type DialectName } from './scripted-answer.ts'
import { scripted } from './scripted-upstream.ts'
import { ask, question, type RequestParams, startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.close())

const PATCH = '*** Begin Patch\n*** Add File: "a.txt"\n+Łódź\n*** End Patch'
const PARAMETERS = { type: 'object', properties: { path: { type: 'string' } } }
const CASES = DIALECTS.flatMap((upstream) => [false, true].map((stream) => ({ upstream, stream })))

const CUSTOM: RequestParams = {
  ...question('Patch it'),
  chat: {
    messages: [{ role: 'user', content: 'Patch it' }],
    tools: [{ type: 'custom', custom: { name: 'apply_patch', description: 'Edits files' } }],
  },
  responses: {
    input: 'Patch it',
    tools: [{ type: 'custom', name: 'apply_patch', description: 'Edits files' }],
  },
}

/** Upstreams of other dialects; on the byte lane nothing is converted. */
const otherThan = (client: DialectName) => CASES.filter(({ upstream }) => upstream !== client)

describe.each(otherThan('chat'))('chat over $upstream, stream: $stream', ({ upstream, stream }) => {
  it('passes on a custom tool call', async () => {
    world.upstream.answer(scripted({ calls: [customCall('call_p', 'apply_patch', PATCH)] }))
    const { calls, end } = stream ? await chatStream() : await ask(world, 'chat', upstream, CUSTOM, false)
    expect({ calls, end }).toEqual({
      calls: [{ id: 'call_p', name: 'apply_patch', input: PATCH }],
      end: 'tool_calls',
    })
  })

  /** Reads the stream by hand: the SDK's helper does not support custom tools. */
  async function chatStream() {
    const calls: { id: string; name: string; input: string }[] = []
    let end: string | null = null
    const body = { ...CUSTOM.chat, model: upstream, stream: true as const }
    for await (const { choices } of await world.openai.chat.completions.create(body)) {
      const [choice] = choices
      end = choice?.finish_reason ?? end
      for (const piece of choice?.delta.tool_calls ?? []) {
        const { custom } = piece as unknown as { custom?: { name?: string; input?: string } }
        calls[piece.index] ??= { id: piece.id ?? '', name: custom?.name ?? '', input: '' }
        const call = calls[piece.index]
        if (call) call.input += custom?.input ?? ''
      }
    }
    return { calls, end }
  }
})

describe.each(otherThan('responses'))('responses over $upstream, stream: $stream', ({ upstream, stream }) => {
  it('passes on a custom tool call and its result', async () => {
    world.upstream.answer(scripted({ calls: [customCall('call_p', 'apply_patch', PATCH)] }))
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: 'Patch it' }]
    const turn = () => {
      const body = { ...CUSTOM.responses, model: upstream, input }
      return stream
        ? world.openai.responses.stream(body).finalResponse()
        : world.openai.responses.create(body)
    }
    const first = await turn()
    expect(readResponses(first).calls).toEqual([{ id: 'call_p', name: 'apply_patch', input: PATCH }])
    expect(first.output.map(({ type }) => type)).toEqual(['custom_tool_call'])

    input.push(...(first.output as OpenAI.Responses.ResponseInputItem[]))
    input.push({ type: 'custom_tool_call_output', call_id: 'call_p', output: 'Done' })
    world.upstream.answer(scripted({ text: 'Patched.' }))
    expect(readResponses(await turn()).text).toBe('Patched.')
    // The upstream gets its own call back, as a function call.
    const { messages } = world.sent() as {
      messages: { role: string; tool_calls?: object[]; content: unknown }[]
    }
    const assistant = messages.find(({ role }) => role === 'assistant')
    if (upstream === 'chat') {
      const call = { name: 'apply_patch', arguments: JSON.stringify({ input: PATCH }) }
      expect(assistant?.tool_calls).toEqual([{ id: 'call_p', type: 'function', function: call }])
    } else {
      const call = { type: 'tool_use', id: 'call_p', name: 'apply_patch', input: { input: PATCH } }
      expect(assistant?.content).toEqual([expect.objectContaining(call)])
    }
  })

  it('passes on a call of a namespaced tool', async () => {
    const tools = [
      {
        type: 'namespace',
        name: 'files',
        description: 'Files',
        tools: [{ type: 'function', name: 'read', parameters: PARAMETERS, strict: false }],
      },
    ] as OpenAI.Responses.Tool[]
    world.upstream.answer(scripted({ calls: [{ id: 'call_r', name: 'files__read', input: '{"path":"a"}' }] }))
    const body = { model: upstream, input: 'Read', tools }
    const answer = stream
      ? await world.openai.responses.stream(body).finalResponse()
      : await world.openai.responses.create(body)
    expect(answer.output).toMatchObject([
      {
        type: 'function_call',
        call_id: 'call_r',
        namespace: 'files',
        name: 'read',
        arguments: '{"path":"a"}',
      },
    ])
  })
})
