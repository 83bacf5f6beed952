import { describe, expect, it } from 'vitest'
import type { Features } from '../../../../contract/features.ts'
import type { DialectName, ModelRequest, StreamPart, Tool, ToolChoice } from '../neutral/types.ts'
import { adapt, called, callPart, files, patch, restored, schema, weather, wrappedSchema } from './testing.ts'

describe('tools that the upstream supports', () => {
  it('stay unchanged, and no call is mapped back', () => {
    const adapted = adapt(
      { source: 'chat', tools: [weather], toolChoice: { type: 'required' }, parallelToolCalls: false },
      'messages',
    )
    expect(adapted.request).toMatchObject({
      tools: [weather],
      toolChoice: { type: 'required' },
      parallelToolCalls: false,
    })
    expect(adapted.restore).toBeUndefined()
    expect(adapted.losses).toEqual([])
  })

  it('keep their names in the history, even if a client repeats a name as its namespace', () => {
    const call = (name: string) => callPart(name, { namespace: name })
    const tools: Tool[] = [weather, { type: 'function', name: 'mine', namespace: 'mine' }]
    const { request } = adapt(
      { tools, turns: [...called(call('get_weather')), ...called(call('mine'))] },
      'chat',
    )
    const names = request.turns.flatMap((turn) =>
      turn.role === 'assistant' ? turn.parts.map((part) => part.type === 'tool-call' && part.name) : [],
    )
    expect(names).toEqual(['get_weather', 'mine__mine'])
    expect(request.tools.map((tool) => tool.type === 'function' && tool.name)).toEqual(names)
  })

  it('are declared once, as in the last declaration', () => {
    const again: Tool = { type: 'function', name: 'get_weather', description: 'new' }
    expect(adapt({ tools: [weather, again] }, 'messages').request.tools).toEqual([again])
  })

  it.each<[DialectName, Partial<Features>]>([
    ['chat', { customTools: true }],
    ['responses', {}],
  ])('stay custom (%s)', (dialect, features) => {
    const turns = called(callPart('apply_patch', { kind: 'custom', input: 'free' }))
    const adapted = adapt(
      { source: dialect === 'chat' ? 'responses' : 'chat', tools: [patch], turns },
      dialect,
      features,
    )
    expect(adapted.request.tools).toEqual([patch])
    expect(adapted.request.turns).toEqual(turns)
    expect(adapted.restore).toBeUndefined()
    expect(adapted.losses).toEqual([])
  })
})

describe('custom tools for other upstreams', () => {
  it.each<[DialectName, Partial<Features>]>([
    ['chat', {}],
    ['messages', {}],
    ['messages', { customTools: true }],
  ])('become functions with one string (%s)', (dialect, features) => {
    const turns = called(callPart('apply_patch', { kind: 'custom', input: 'a "b"' }))
    const toolChoice: ToolChoice = { type: 'tool', kind: 'custom', name: 'apply_patch' }
    const { request, losses } = adapt({ tools: [patch], turns, toolChoice }, dialect, features)
    expect(request.tools).toEqual([
      {
        type: 'function',
        name: 'apply_patch',
        description: 'Edits files.\n\nThe input must match this lark grammar:\nstart: "x"',
        parameters: wrappedSchema,
      },
    ])
    expect(request.turns).toEqual(called(callPart('apply_patch', { input: '{"input":"a \\"b\\""}' })))
    expect(request.toolChoice).toEqual({ type: 'tool', kind: 'function', name: 'apply_patch' })
    expect(losses).toEqual(['tools.format'])
  })

  it('have no losses without a grammar', () => {
    const { request, losses } = adapt({ tools: [{ type: 'custom', name: 'note' }] }, 'chat')
    expect(request.tools).toEqual([{ type: 'function', name: 'note', parameters: wrappedSchema }])
    expect(losses).toEqual([])
  })

  it.each([
    ['{"input":"a \\"b\\"\\n"}', 'a "b"\n'],
    ['{"input":""}', ''],
    ['{"input":"cut', '{"input":"cut'],
    ['not JSON', 'not JSON'],
    ['{"input":1}', '{"input":1}'],
    ['{"other":"x"}', '{"other":"x"}'],
    ['"text"', '"text"'],
    ['', ''],
  ])('are restored in the answer: %s', (input, unwrapped) => {
    const adapted = adapt({ tools: [patch, weather] }, 'chat')
    const answered = restored(
      adapted,
      callPart('apply_patch', { input }),
      callPart('get_weather', { input: '{"input":"x"}' }),
    )
    expect(answered).toEqual([
      callPart('apply_patch', { kind: 'custom', input: unwrapped }),
      callPart('get_weather', { input: '{"input":"x"}' }),
    ])
  })

  it('are not unwrapped when they were never wrapped', () => {
    const custom: Tool = { type: 'custom', name: 'write', namespace: 'files' }
    const adapted = adapt({ tools: [custom] }, 'chat', { customTools: true })
    expect(adapted.request.tools).toEqual([{ type: 'custom', name: 'files__write' }])
    const input = '{"input":"x"}'
    expect(restored(adapted, callPart('files__write', { callId: 'c', kind: 'custom', input }))).toEqual([
      callPart('write', { callId: 'c', namespace: 'files', kind: 'custom', input }),
    ])
  })

  it('are restored when calls interleave', () => {
    const out: StreamPart[] = []
    const part = adapt({ tools: [patch, weather] }, 'chat').restore?.((part) => void out.push(part))
    const delta = (id: string, text: string) => part?.({ type: 'tool-call-delta', id, text })
    part?.({ type: 'tool-call-start', id: '1', callId: 'a', name: 'apply_patch', kind: 'function' })
    delta('1', '{"inp')
    part?.({ type: 'tool-call-start', id: '2', callId: 'b', name: 'apply_patch', kind: 'function' })
    part?.({ type: 'tool-call-start', id: '3', callId: 'c', name: 'get_weather', kind: 'function' })
    delta('2', '{"input":"two"}')
    delta('3', '{}')
    delta('1', 'ut":"one"}')
    part?.({ type: 'tool-call-end', id: '1' })
    part?.({ type: 'tool-call-end', id: '2' })
    part?.({ type: 'tool-call-end', id: '3' })
    expect(out.filter(({ type }) => type === 'tool-call-delta')).toEqual([
      { type: 'tool-call-delta', id: '3', text: '{}' },
      { type: 'tool-call-delta', id: '1', text: 'one' },
      { type: 'tool-call-delta', id: '2', text: 'two' },
    ])
    expect(
      out.filter(({ type }) => type === 'tool-call-start').map((part) => 'kind' in part && part.kind),
    ).toEqual(['custom', 'custom', 'function'])
  })
})

describe('a search for tools', () => {
  const look: Tool = {
    type: 'function',
    name: 'tool_search',
    description: 'Looks.',
    parameters: schema,
    search: true,
  }
  const plain: Tool = { type: 'function', name: 'tool_search', description: 'Looks.', parameters: schema }
  const write: Tool = { type: 'custom', name: 'write', namespace: 'files', description: 'Writes.' }
  const turns: ModelRequest['turns'] = [
    { role: 'assistant', parts: [callPart('tool_search', { callId: 'c', search: true, input: '{"q":1}' })] },
    { role: 'tool', results: [{ callId: 'c', kind: 'function', parts: [], found: [files, write] }] },
  ]

  it.each<DialectName>(['chat', 'messages'])(
    'becomes a function (%s), and is restored in the answer',
    (dialect) => {
      const adapted = adapt({ tools: [look, weather] }, dialect)
      expect(adapted.request.tools).toEqual([plain, weather])
      expect(adapted.losses).toEqual([])
      expect(
        restored(adapted, callPart('tool_search', { input: '{"q":"x"}' }), callPart('get_weather')),
      ).toEqual([callPart('tool_search', { input: '{"q":"x"}', search: true }), callPart('get_weather')])
    },
  )

  it.each<DialectName>(['chat', 'messages'])(
    'lists the found tools by their callable names (%s)',
    (dialect) => {
      const { request } = adapt({ tools: [look, files, write], turns }, dialect)
      const text = '[{"name":"files__read"},{"name":"files__write","description":"Writes."}]'
      expect(request.turns).toEqual([
        { role: 'assistant', parts: [callPart('tool_search', { callId: 'c', input: '{"q":1}' })] },
        { role: 'tool', results: [{ callId: 'c', kind: 'function', parts: [{ type: 'text', text }] }] },
      ])
    },
  )

  it('that found no tool has an empty list', () => {
    const none: ModelRequest['turns'] = [{ role: 'tool', results: [{ callId: 'c', parts: [], found: [] }] }]
    const { request } = adapt({ tools: [look], turns: none }, 'chat')
    expect(request.turns).toMatchObject([{ results: [{ parts: [{ type: 'text', text: '[]' }] }] }])
  })

  it('differs from a function of the same name', () => {
    const adapted = adapt({ tools: [plain, look], turns }, 'chat')
    const names = adapted.request.tools.map((tool) => (tool.type === 'function' ? tool.name : ''))
    expect(names).toEqual(['tool_search', expect.stringMatching(/^tool_search_[0-9a-f]{8}$/)])
    const [own = '', wire = ''] = names
    expect(adapted.request.turns[0]).toMatchObject({ parts: [{ name: wire }] })
    expect(restored(adapted, callPart(own, { callId: 'a' }), callPart(wire, { callId: 'b' }))).toEqual([
      callPart('tool_search', { callId: 'a' }),
      callPart('tool_search', { callId: 'b', search: true }),
    ])
  })
})

describe('names', () => {
  it.each<DialectName>(['chat', 'messages'])(
    'include namespaces (%s), which are restored in the answer',
    (dialect) => {
      const custom: Tool = { type: 'custom', name: 'write', namespace: 'files' }
      const adapted = adapt(
        {
          tools: [files, custom],
          turns: called(callPart('read', { namespace: 'files' })),
          toolChoice: { type: 'tool', kind: 'function', name: 'read' },
        },
        dialect,
      )
      expect(adapted.request.tools).toEqual([
        { type: 'function', name: 'files__read', parameters: schema },
        { type: 'function', name: 'files__write', parameters: wrappedSchema },
      ])
      expect(adapted.request.turns).toEqual(called(callPart('files__read', { callId: 'call_read' })))
      expect(adapted.request.toolChoice).toEqual({ type: 'tool', kind: 'function', name: 'files__read' })
      expect(adapted.losses).toEqual([])
      expect(
        restored(
          adapted,
          callPart('files__read'),
          callPart('files__write', { input: '{"input":"x"}' }),
          callPart('other'),
        ),
      ).toEqual([
        callPart('read', { callId: 'call_files__read', namespace: 'files' }),
        callPart('write', { callId: 'call_files__write', namespace: 'files', kind: 'custom', input: 'x' }),
        callPart('other'),
      ])
    },
  )

  it('that are too long are cut the same everywhere, and restored in the answer', () => {
    const name = `mcp__${'x'.repeat(70)}`
    const adapted = adapt(
      {
        source: 'messages',
        tools: [{ type: 'function', name }],
        turns: called(callPart(name)),
        toolChoice: { type: 'tool', kind: 'function', name },
      },
      'chat',
    )
    const { tools, turns, toolChoice } = adapted.request
    const wire = tools[0]?.type === 'function' ? tools[0].name : ''
    expect(wire).toMatch(/^mcp__x{50}_[0-9a-f]{8}$/)
    expect(toolChoice).toEqual({ type: 'tool', kind: 'function', name: wire })
    expect(turns[0]).toMatchObject({ parts: [{ name: wire }] })
    expect(restored(adapted, callPart(wire, { callId: 'c' }))).toEqual([callPart(name, { callId: 'c' })])
  })

  it('of calls in the history are restored too when no such tool is declared', () => {
    const adapted = adapt({ turns: called(callPart('a.b')), tools: [weather] }, 'chat')
    const [turn] = adapted.request.turns
    const wire = turn?.role === 'assistant' && turn.parts[0]?.type === 'tool-call' ? turn.parts[0].name : ''
    expect(wire).toMatch(/^a_b_[0-9a-f]{8}$/)
    expect(restored(adapted, callPart(wire, { callId: 'c' }))).toEqual([callPart('a.b', { callId: 'c' })])
  })

  it('ids of calls become legal together with those of their results', () => {
    const turns = called(callPart('get_weather', { callId: 'call:1|x' }))
    const { request } = adapt({ tools: [weather], turns }, 'messages')
    const [assistant, results] = request.turns
    const id =
      assistant?.role === 'assistant' && assistant.parts[0]?.type === 'tool-call' && assistant.parts[0].callId
    expect(id).toMatch(/^call_1_x_[0-9a-f]{8}$/)
    expect(results?.role === 'tool' && results.results[0]?.callId).toBe(id)
    expect(adapt({ tools: [weather], turns }, 'chat').request.turns).toEqual(turns)
  })
})

describe('calls in a history without tools', () => {
  const turns = called(callPart('get_weather'), callPart('get_weather', { callId: 'x' }), callPart('a.b'))

  it('are declared to messages with the choice none', () => {
    const { request } = adapt({ turns }, 'messages')
    const parameters = { type: 'object', properties: {} }
    expect(request.tools).toEqual([
      { type: 'function', name: 'get_weather', parameters },
      { type: 'function', name: expect.stringMatching(/^a_b_[0-9a-f]{8}$/), parameters },
    ])
    expect(request.toolChoice).toEqual({ type: 'none' })
  })

  it('need no tools elsewhere', () => {
    const { request } = adapt({ turns }, 'chat')
    expect(request.tools).toEqual([])
    expect(request).not.toHaveProperty('toolChoice')
  })
})
