import type { ToolRules } from '../core/dialect.ts'

const MAX_CHARACTERS = 64

/** Rules for tools that upstreams of OpenAI's conversation APIs apply. */
export function openaiTools({ namespaces }: Pick<ToolRules, 'namespaces'>): ToolRules {
  return {
    maxNameLength: MAX_CHARACTERS,
    namespaces,
    customTools: true,
    allowedTools: true,
    declaresCalled: false,
    isCallId: (id) => id.length <= MAX_CHARACTERS,
  }
}
