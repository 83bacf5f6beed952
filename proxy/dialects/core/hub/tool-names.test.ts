import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toolRules } from './testing.ts'
import { legalCallId, type ToolName, ToolNames } from './tool-names.ts'

const fn = (name: string, namespace?: string): ToolName => ({
  kind: 'function',
  name,
  ...(namespace !== undefined && { namespace }),
})

describe('names of tools', () => {
  it('stay unchanged if legal', () => {
    const names = new ToolNames(toolRules('chat'), [fn('get_weather'), fn('A-1'), fn('x'.repeat(64))])
    expect(names.wire(fn('get_weather'))).toBe('get_weather')
    expect(names.wire(fn('A-1'))).toBe('A-1')
    expect(names.wire(fn('x'.repeat(64)))).toBe('x'.repeat(64))
  })

  it('are cut to the length that each API accepts', () => {
    const long = 'x'.repeat(65)
    expect(new ToolNames(toolRules('chat'), [fn(long)]).wire(fn(long))).toMatch(/^x{55}_[0-9a-f]{8}$/)
    expect(new ToolNames(toolRules('responses'), [fn(long)]).wire(fn(long))).toHaveLength(64)
    expect(new ToolNames(toolRules('messages'), [fn(long)]).wire(fn(long))).toBe(long)
    const longer = 'x'.repeat(129)
    expect(new ToolNames(toolRules('messages'), [fn(longer)]).wire(fn(longer))).toMatch(
      /^x{119}_[0-9a-f]{8}$/,
    )
  })

  it('get legal characters', () => {
    expect(new ToolNames(toolRules('chat'), []).wire(fn('mcp.files/réad'))).toMatch(
      /^mcp_files_r_ad_[0-9a-f]{8}$/,
    )
    expect(new ToolNames(toolRules('chat'), []).wire(fn(''))).toMatch(/^_[0-9a-f]{8}$/)
  })

  it('include their namespace, except in responses', () => {
    const tool = fn('read', 'files')
    expect(new ToolNames(toolRules('chat'), [tool]).wire(tool)).toBe('files__read')
    expect(new ToolNames(toolRules('messages'), [tool]).wire(tool)).toBe('files__read')
    expect(new ToolNames(toolRules('responses'), [tool]).wire(tool)).toBe('read')
    expect(new ToolNames(toolRules('chat'), [tool]).tool('files__read')).toEqual(tool)
  })

  it('do not collide with a tool whose name is unchanged', () => {
    const names = new ToolNames(toolRules('chat'), [fn('read', 'files'), fn('files__read')])
    expect(names.wire(fn('files__read'))).toBe('files__read')
    expect(names.wire(fn('read', 'files'))).toMatch(/^files__read_[0-9a-f]{8}$/)
  })

  it('differ for a function and a custom tool of the same name', () => {
    const custom: ToolName = { kind: 'custom', name: 'patch' }
    const names = new ToolNames(toolRules('messages'), [fn('patch'), custom])
    expect(names.wire(fn('patch'))).toBe('patch')
    expect(names.wire(custom)).toMatch(/^patch_[0-9a-f]{8}$/)
    expect(names.tool(names.wire(custom))).toEqual(custom)
  })

  it('are always legal and unique, and identify their tool', () => {
    const part = fc.oneof(
      fc.constantFrom('a', 'a__b', 'b', 'x'.repeat(70), 'a.b', 'a_b', 'é'),
      fc.string({ maxLength: 100 }),
    )
    const tool = fc.record<ToolName>(
      { kind: fc.constantFrom('function', 'custom'), name: part, namespace: part },
      { requiredKeys: ['kind', 'name'] },
    )
    fc.assert(
      fc.property(fc.constantFrom('chat', 'messages'), fc.array(tool), (dialect, tools) => {
        const names = new ToolNames(toolRules(dialect), tools)
        for (const each of tools) {
          const wire = names.wire(each)
          expect(wire).toMatch(dialect === 'chat' ? /^[a-zA-Z0-9_-]{1,64}$/ : /^[a-zA-Z0-9_-]{1,128}$/)
          expect(names.tool(wire)).toEqual(each)
        }
      }),
    )
  })
})

describe('ids of calls', () => {
  it('are kept if legal', () => {
    expect(legalCallId('toolu_01-A', toolRules('messages'))).toBe('toolu_01-A')
    expect(legalCallId('call.1:x', toolRules('chat'))).toBe('call.1:x')
    expect(legalCallId('x'.repeat(64), toolRules('responses'))).toBe('x'.repeat(64))
    expect(legalCallId('x'.repeat(65), toolRules('messages'))).toBe('x'.repeat(65))
  })

  it('get legal characters in messages, and stay different', () => {
    expect(legalCallId('call.1', toolRules('messages'))).toMatch(/^call_1_[0-9a-f]{8}$/)
    expect(legalCallId('call.1', toolRules('messages'))).toBe(legalCallId('call.1', toolRules('messages')))
    expect(legalCallId('call.1', toolRules('messages'))).not.toBe(
      legalCallId('call:1', toolRules('messages')),
    )
    expect(legalCallId('', toolRules('messages'))).toMatch(/^_[0-9a-f]{8}$/)
  })

  it('are shortened to 64 characters in chat and responses', () => {
    const id = legalCallId('x'.repeat(65), toolRules('chat'))
    expect(id).toMatch(/^x{55}_[0-9a-f]{8}$/)
    expect(legalCallId('x'.repeat(65), toolRules('responses'))).toBe(id)
    expect(legalCallId('x'.repeat(66), toolRules('chat'))).not.toBe(id)
  })
})
