import { describe, expect, it } from 'vitest'
import type { DialectName, ModelRequest, Tool, ToolChoice } from '../neutral/types.ts'
import { adapt, files, hosted, patch, refusal, search, weather } from './testing.ts'

describe('tools of vendors', () => {
  it('are dropped elsewhere, which is a loss', () => {
    const { request, losses } = adapt({ tools: [hosted, weather], toolChoice: { type: 'auto' } }, 'messages')
    expect(request.tools).toEqual([weather])
    expect(request.toolChoice).toEqual({ type: 'auto' })
    expect(losses).toEqual(['tools'])
  })

  it('become the upstream’s web search if it has one', () => {
    const choice: ToolChoice = { type: 'web-search' }
    expect(adapt({ tools: [search], toolChoice: choice }, 'messages').request).toMatchObject({
      tools: [search],
      toolChoice: choice,
    })
    const { request, losses } = adapt({ tools: [search, weather] }, 'chat')
    expect(request.tools).toEqual([weather])
    expect(losses).toEqual(['tools'])
  })

  it.each<[string, Partial<ModelRequest>, DialectName]>([
    [
      'a hosted tool',
      {
        tools: [hosted, weather],
        toolChoice: { type: 'hosted', dialect: 'responses', name: 'mcp', choice: { type: 'mcp' } },
      },
      'chat',
    ],
    ['the search', { tools: [search, weather], toolChoice: { type: 'web-search' } }, 'chat'],
    ['a search that is not declared', { tools: [weather], toolChoice: { type: 'web-search' } }, 'messages'],
    ['any tool without tools', { tools: [hosted], toolChoice: { type: 'required' } }, 'messages'],
    ['a tool without tools', { toolChoice: { type: 'tool', kind: 'function', name: 'f' } }, 'chat'],
    [
      'an allowed tool without tools',
      { toolChoice: { type: 'allowed', mode: 'required', tools: [] } },
      'messages',
    ],
  ])('are refused when %s is forced', (_, changes, dialect) => {
    expect(refusal(changes, dialect)).toEqual({ code: 'unsupported_parameter', param: 'tool_choice' })
  })

  it('are removed together with choice and parallel calls if none is left', () => {
    for (const toolChoice of [{ type: 'auto' }, { type: 'none' }] as const) {
      const { request } = adapt({ tools: [hosted], toolChoice, parallelToolCalls: false }, 'chat')
      expect(request.tools).toEqual([])
      expect(request).not.toHaveProperty('toolChoice')
      expect(request).not.toHaveProperty('parallelToolCalls')
    }
  })
})

describe('choices', () => {
  const allowed: ToolChoice = {
    type: 'allowed',
    mode: 'required',
    tools: [
      { kind: 'custom', name: 'apply_patch' },
      { kind: 'function', name: 'read' },
    ],
  }

  it('of allowed tools leave messages only those tools', () => {
    const { request, losses } = adapt(
      { tools: [weather, files, { type: 'custom', name: 'apply_patch' }, search], toolChoice: allowed },
      'messages',
    )
    expect(request.tools.map((tool) => tool.type === 'function' && tool.name)).toEqual([
      'files__read',
      'apply_patch',
    ])
    expect(request.toolChoice).toEqual({ type: 'required' })
    expect(losses).toEqual(['tool_choice'])
  })

  it('of allowed tools use the declared names', () => {
    const { request, losses } = adapt({ tools: [weather, files, patch], toolChoice: allowed }, 'chat')
    expect(request.tools).toHaveLength(3)
    expect(request.toolChoice).toEqual({
      type: 'allowed',
      mode: 'required',
      tools: [
        { kind: 'function', name: 'apply_patch' },
        { kind: 'function', name: 'files__read' },
      ],
    })
    expect(losses).toEqual(['tools.format'])
  })

  it('prefer the tool without a namespace', () => {
    const tools: Tool[] = [files, { type: 'function', name: 'read' }]
    const toolChoice: ToolChoice = { type: 'tool', kind: 'function', name: 'read' }
    expect(adapt({ tools, toolChoice }, 'chat').request.toolChoice).toEqual(toolChoice)
  })
})
