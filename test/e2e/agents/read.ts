/** What an upstream was told, read alike whatever its dialect. */
import type { Asked, Json } from './room.ts'

const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : [])

export const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : list(content)
        .map(({ text = '' }) => String(text))
        .join('')

export interface Result {
  id: string
  text: string
}

/** Results of tools, in their order. */
export function results({ dialect, body }: Asked): Result[] {
  if (dialect === 'chat')
    return list(body.messages)
      .filter(({ role }) => role === 'tool')
      .map(({ tool_call_id, content }) => ({ id: String(tool_call_id), text: textOf(content) }))
  if (dialect === 'responses')
    return list(body.input)
      .filter(({ type }) => type === 'function_call_output' || type === 'custom_tool_call_output')
      .map(({ call_id, output }) => ({ id: String(call_id), text: textOf(output) }))
  return list(body.messages)
    .flatMap(({ content }) => list(content))
    .filter(({ type }) => type === 'tool_result')
    .map(({ tool_use_id, content }) => ({ id: String(tool_use_id), text: textOf(content) }))
}

/** Who says something, and what, in the order of the conversation: each text for itself, those of tools left out. */
export function said({ dialect, body }: Asked): { role: string; text: string }[] {
  return list(dialect === 'responses' ? body.input : body.messages)
    .filter(({ role }) => role !== undefined && role !== 'tool')
    .flatMap(({ role, content }) =>
      (typeof content === 'string' ? [{ text: content }] : list(content))
        .filter(({ text }) => text !== undefined)
        .map(({ text }) => ({ role: String(role), text: String(text) })),
    )
}

/** Names of the tools that the model may call. */
export const tools = ({ body }: Asked): string[] =>
  list(body.tools).map((tool) => {
    const { name, type } = { ...tool, ...(tool.function as Json | undefined) }
    return String(name ?? type)
  })

/** Instructions that stand beside the conversation. */
export const instructions = ({ body }: Asked): string[] =>
  body.system === undefined
    ? [String(body.instructions ?? '')]
    : list(body.system).map(({ text }) => String(text))

/** What the model thought before, as it is told again: thoughts that it alone can read. */
export function thoughts({ dialect, body }: Asked): string[] {
  if (dialect === 'responses')
    return list(body.input)
      .filter(({ type }) => type === 'reasoning')
      .map(({ encrypted_content }) => String(encrypted_content))
  return list(body.messages)
    .flatMap(({ content }) => list(content))
    .filter(({ type }) => type === 'thinking')
    .map(({ signature }) => String(signature))
}
