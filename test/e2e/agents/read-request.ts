/** Reads the upstream's requests in the same way for every dialect. */
import type { Json, UpstreamRequest } from './world.ts'

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

/** Tool results, in order. */
export function results({ dialect, body }: UpstreamRequest): Result[] {
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

/** Each text of the conversation with its role, in order, without tool results. */
export function textsOf({ dialect, body }: UpstreamRequest): { role: string; text: string }[] {
  return list(dialect === 'responses' ? body.input : body.messages)
    .filter(({ role }) => role !== undefined && role !== 'tool')
    .flatMap(({ role, content }) =>
      (typeof content === 'string' ? [{ text: content }] : list(content))
        .filter(({ text }) => text !== undefined)
        .map(({ text }) => ({ role: String(role), text: String(text) })),
    )
}

/** Names of the tools that the model may call. */
export const tools = ({ body }: UpstreamRequest): string[] =>
  list(body.tools).map((tool) => {
    const { name, type } = { ...tool, ...(tool.function as Json | undefined) }
    return String(name ?? type)
  })

/** Instructions outside the conversation. */
export const instructions = ({ body }: UpstreamRequest): string[] =>
  body.system === undefined
    ? [String(body.instructions ?? '')]
    : list(body.system).map(({ text }) => String(text))

/** Encrypted reasoning and signatures that the request returns to the model. */
export function carriers({ dialect, body }: UpstreamRequest): string[] {
  if (dialect === 'responses')
    return list(body.input)
      .filter(({ type }) => type === 'reasoning')
      .map(({ encrypted_content }) => String(encrypted_content))
  return list(body.messages)
    .flatMap(({ content }) => list(content))
    .filter(({ type }) => type === 'thinking')
    .map(({ signature }) => String(signature))
}
