import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { noLosses } from '../../testing.ts'
import { anyRequest } from '../neutral/testing.ts'
import type { AssistantPart, AssistantTurn, ModelRequest, ToolResult, Turn } from '../neutral/types.ts'
import { repairHistory } from './repair.ts'

const user = (text: string): Turn => ({ role: 'user', parts: [{ type: 'text', text }] })
const system = (text: string): Turn => ({
  role: 'system',
  placement: 'message',
  parts: [{ type: 'text', text }],
})
const say = (text: string): AssistantPart => ({ type: 'text', text })
const call = (callId: string, input = '{}'): AssistantPart => ({
  type: 'tool-call',
  callId,
  name: 'f',
  kind: 'function',
  input,
})
const assistant = (...parts: AssistantPart[]): Turn => ({ role: 'assistant', parts })
const result = (callId: string, text: string): ToolResult => ({ callId, parts: [{ type: 'text', text }] })
const tool = (...results: ToolResult[]): Turn => ({ role: 'tool', results })
const none = (callId: string): ToolResult => ({ ...result(callId, '(no output)'), kind: 'function' })

function request(turns: Turn[]): ModelRequest {
  return { model: 'm', stream: false, turns, tools: [] }
}

function repaired(...turns: Turn[]): { turns: Turn[]; losses: string[] } {
  const losses = noLosses('chat')
  return { turns: repairHistory(request(turns), losses).turns, losses: losses.names }
}

describe('repair of a history', () => {
  it.each<[string, Turn[], Turn[], string[]?]>([
    [
      'moves results before user text after their calls',
      [assistant(call('a')), user('wait'), tool(result('a', '1')), user('go on')],
      [assistant(call('a')), tool(result('a', '1')), user('wait'), user('go on')],
    ],
    [
      'moves results before a system message after their calls',
      [assistant(call('a'), call('b')), tool(result('a', '1')), system('s'), tool(result('b', '2'))],
      [assistant(call('a'), call('b')), tool(result('a', '1'), result('b', '2')), system('s')],
    ],
    [
      'moves a late result before later assistant turns',
      [assistant(call('a'), call('b')), tool(result('a', '1')), assistant(say('hm')), tool(result('b', '2'))],
      [assistant(call('a'), call('b')), tool(result('a', '1'), result('b', '2')), assistant(say('hm'))],
    ],
    [
      'puts results in the order of their calls',
      [assistant(call('a'), call('b')), tool(result('b', '2'), result('a', '1'))],
      [assistant(call('a'), call('b')), tool(result('a', '1'), result('b', '2'))],
    ],
    [
      'joins tool turns that follow each other',
      [assistant(call('a'), call('b')), tool(result('a', '1')), tool(result('b', '2'))],
      [assistant(call('a'), call('b')), tool(result('a', '1'), result('b', '2'))],
    ],
    [
      'joins parallel calls in separate turns',
      [
        assistant(say('let me')),
        assistant(call('a')),
        assistant(call('b')),
        tool(result('a', '1')),
        tool(result('b', '2')),
      ],
      [assistant(say('let me'), call('a'), call('b')), tool(result('a', '1'), result('b', '2'))],
    ],
    [
      'does not join assistant turns across a result',
      [assistant(call('a')), tool(result('a', '1')), assistant(call('b')), tool(result('b', '2'))],
      [assistant(call('a')), tool(result('a', '1')), assistant(call('b')), tool(result('b', '2'))],
    ],
    [
      'joins assistant turns after everything between them was dropped',
      [assistant(say('x')), tool(result('gone', '1')), user(''), assistant(say('y')), user('z')],
      [assistant(say('x'), say('y')), user('z')],
      ['messages.content'],
    ],
    [
      'drops results without a call, and those before their call',
      [tool(result('a', '0')), assistant(call('a')), tool(result('a', '1'), result('b', '2'))],
      [assistant(call('a')), tool(result('a', '1'))],
      ['messages.content'],
    ],
    [
      'takes the last of several results',
      [assistant(call('a')), tool(result('a', 'old')), user('u'), tool(result('a', 'new'))],
      [assistant(call('a')), tool(result('a', 'new')), user('u')],
      ['messages.content'],
    ],
    [
      'adds results for calls without one',
      [assistant(call('a'), call('b')), tool(result('b', '2')), user('u')],
      [assistant(call('a'), call('b')), tool(none('a'), result('b', '2')), user('u')],
    ],
    [
      'answers calls that the user interrupted',
      [assistant(call('a')), user('stop')],
      [assistant(call('a')), tool(none('a')), user('stop')],
    ],
    [
      'keeps unanswered calls at the end',
      [user('u'), assistant(call('a'))],
      [user('u'), assistant(call('a'))],
    ],
    [
      'answers the other calls at the end if one is answered',
      [assistant(call('a'), call('b')), tool(result('a', '1'))],
      [assistant(call('a'), call('b')), tool(result('a', '1'), none('b'))],
    ],
    [
      'renames calls whose id is taken, with their results',
      [assistant(call('a')), tool(result('a', '1')), assistant(call('a')), tool(result('a', '2'))],
      [assistant(call('a')), tool(result('a', '1')), assistant(call('a_1')), tool(result('a_1', '2'))],
    ],
    [
      'matches a result to the latest call with its id',
      [assistant(call('a')), user('u'), assistant(call('a')), tool(result('a', '2'))],
      [assistant(call('a')), tool(none('a')), user('u'), assistant(call('a_1')), tool(result('a_1', '2'))],
    ],
    [
      'matches results of one id to the calls of a turn in order',
      [assistant(call('a', '{"n":1}'), call('a', '{"n":2}')), tool(result('a', '1'), result('a', '2'))],
      [assistant(call('a', '{"n":1}'), call('a_1', '{"n":2}')), tool(result('a', '1'), result('a_1', '2'))],
    ],
    [
      'drops a repeated call',
      [assistant(call('a')), assistant(call('a')), tool(result('a', '1'))],
      [assistant(call('a')), tool(result('a', '1'))],
    ],
    [
      'drops empty texts and empty turns',
      [
        system(''),
        user(''),
        {
          role: 'user',
          parts: [
            { type: 'text', text: '' },
            { type: 'text', text: 'u' },
          ],
        },
        assistant(say(''), { type: 'refusal', text: '' }, { type: 'reasoning', texts: [''] }),
        { role: 'user', parts: [] },
        assistant(say(''), call('a')),
        tool(result('a', '')),
      ],
      [user('u'), assistant(call('a')), tool({ callId: 'a', parts: [] })],
    ],
    [
      'keeps an empty user turn at the end',
      [user('u'), assistant(say('a')), user('')],
      [user('u'), assistant(say('a')), { role: 'user', parts: [] }],
    ],
    [
      'replaces lone surrogates',
      [
        system('s\ud800'),
        user('a\ud83d b'),
        assistant({ type: 'reasoning', texts: ['\udc00'] }, say('\udc00😀'), call('a', '{"x":"\ud800"}')),
        tool(result('a', '\ud800\ud800')),
        {
          role: 'user',
          parts: [{ type: 'file', source: { kind: 'text', mediaType: 'text/plain', text: '\ud800' } }],
        },
      ],
      [
        system('s\ufffd'),
        user('a\ufffd b'),
        assistant({ type: 'reasoning', texts: ['\ufffd'] }, say('\ufffd😀'), call('a', '{"x":"\ufffd"}')),
        tool(result('a', '\ufffd\ufffd')),
        {
          role: 'user',
          parts: [{ type: 'file', source: { kind: 'text', mediaType: 'text/plain', text: '\ufffd' } }],
        },
      ],
    ],
  ])('%s', (_, before, after, losses = []) => {
    expect(repaired(...before)).toEqual({ turns: after, losses })
  })

  it('keeps the model’s order, and thinking that is only a signature', () => {
    const carrier = { dialect: 'messages', kind: 'signature', value: 'S' } as const
    const parts: AssistantPart[] = [
      { type: 'reasoning', texts: [''], carrier },
      call('a'),
      { type: 'reasoning', texts: ['t'] },
      { type: 'reasoning', texts: [], lostCarrier: true },
      say('x'),
      call('b'),
    ]
    const { turns } = repaired(user('u'), assistant(...parts), tool(result('a', '1')))
    expect((turns[1] as AssistantTurn).parts).toEqual(parts)
  })

  it('never reuses an id', () => {
    const ids = ['a', 'a_1', 'a_2', 'a', 'a_1', 'a']
    const turns = ids.flatMap((id, index) => [assistant(call(id)), tool(result(id, String(index)))])
    const repairedTurns = repaired(...turns).turns
    const calls = repairedTurns.flatMap((turn) => (turn.role === 'assistant' ? turn.parts : []))
    const results = repairedTurns.flatMap((turn) => (turn.role === 'tool' ? turn.results : []))
    const callIds = calls.map((part) => part.type === 'tool-call' && part.callId)
    expect(new Set(callIds).size).toBe(6)
    expect(results.map(({ callId }) => callId)).toEqual(callIds)
    expect(results.map(({ parts: [part] }) => part?.type === 'text' && part.text)).toEqual([...'012345'])
  })

  it('returns a valid request unchanged', () => {
    fc.assert(
      fc.property(anyRequest, (request) => {
        const losses = noLosses('chat')
        expect(repairHistory(request, losses)).toBe(request)
        expect(losses.names).toEqual([])
      }),
    )
  })

  it('repairs any sequence of turns without changing its arguments', () => {
    const id = fc.constantFrom('a', 'b', 'c')
    const text = fc.constantFrom('', 'x', '\ud800')
    const anyTurn: fc.Arbitrary<Turn> = fc.oneof(
      text.map(user),
      text.map(system),
      fc
        .array(
          fc.oneof(
            text.map(say),
            fc.tuple(id, fc.constantFrom('1', '2')).map(([a, b]) => call(a, b)),
          ),
        )
        .map((parts) => assistant(...parts)),
      fc.array(fc.tuple(id, text).map(([callId, text]) => result(callId, text))).map((all) => tool(...all)),
    )
    fc.assert(
      fc.property(fc.array(anyTurn, { maxLength: 12 }), (turns) => {
        const before = structuredClone(turns)
        const once = repairHistory(request(turns), noLosses('chat'))
        expect(turns).toEqual(before)
        expectRight(once.turns)
        expect(repairHistory(once, noLosses('chat'))).toBe(once)
      }),
      { numRuns: 500 },
    )
  })

  it('takes linear time', () => {
    const turns = Array.from({ length: 20_000 }, (_, index) => [
      assistant(call('a', String(index))),
      tool(result('a', 'x')),
    ]).flat()
    expect(repaired(...turns).turns).toHaveLength(40_000)
  })
})

function expectRight(turns: Turn[]): void {
  const ids: string[] = []
  for (const [index, turn] of turns.entries()) {
    const next = turns[index + 1]
    if (turn.role === 'tool') expect(turns[index - 1]?.role).toBe('assistant')
    else if (turn.role !== 'user' || next !== undefined) expect(turn.parts.length).toBeGreaterThan(0)
    if (turn.role !== 'assistant') continue
    expect(next?.role).not.toBe('assistant')
    const calls = turn.parts.filter((part) => part.type === 'tool-call').map(({ callId }) => callId)
    ids.push(...calls)
    if (calls.length > 0 && next !== undefined) {
      expect(next.role === 'tool' && next.results.map(({ callId }) => callId)).toEqual(calls)
    }
    if (calls.length === 0) expect(next?.role).not.toBe('tool')
  }
  expect(new Set(ids).size).toBe(ids.length)
  expect(JSON.stringify(turns)).not.toMatch(/\\ud8|"text":""/)
}
