/** Reads the answers of the official SDKs into one shape for all dialects. */
import type Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import type { Call, Counts } from './scripted-answer.ts'

export interface ReadAnswer {
  text: string
  reasoning: string
  calls: Call[]
  /** Finish reason in the dialect's terms; for responses the status or the reason why it is incomplete. */
  end: string | null
  counts: Partial<Counts> | undefined
  model: string
  id: string
}

export function readChat(answer: OpenAI.ChatCompletion): ReadAnswer {
  const [choice] = answer.choices
  const { usage } = answer
  const message = choice?.message as
    | (OpenAI.ChatCompletionMessage & { reasoning_content?: string })
    | undefined
  return {
    text: message?.content ?? '',
    reasoning: message?.reasoning_content ?? '',
    calls: (message?.tool_calls ?? []).map((call) =>
      call.type === 'custom'
        ? { id: call.id, name: call.custom.name, input: call.custom.input }
        : { id: call.id, name: call.function.name, input: call.function.arguments },
    ),
    end: choice?.finish_reason ?? null,
    counts: usage && {
      input: usage.prompt_tokens,
      cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
      written: usage.prompt_tokens_details?.cache_write_tokens ?? 0,
      output: usage.completion_tokens,
      reasoning: usage.completion_tokens_details?.reasoning_tokens ?? 0,
    },
    model: answer.model,
    id: answer.id,
  }
}

export function readResponses(answer: OpenAI.Responses.Response): ReadAnswer {
  const { output, usage } = answer
  return {
    text: output
      .flatMap((item) => (item.type === 'message' ? item.content : []))
      .map((part) => (part.type === 'output_text' ? part.text : ''))
      .join(''),
    reasoning: output
      .flatMap((item) => (item.type === 'reasoning' ? [...item.summary, ...(item.content ?? [])] : []))
      .map(({ text }) => text)
      .join('\n\n'),
    calls: output.flatMap((item) => {
      if (item.type === 'function_call') return [{ id: item.call_id, name: item.name, input: item.arguments }]
      return item.type === 'custom_tool_call'
        ? [{ id: item.call_id, name: item.name, input: item.input }]
        : []
    }),
    end: answer.incomplete_details?.reason ?? answer.status ?? null,
    counts: usage && {
      input: usage.input_tokens,
      // Upstreams leave out fields that the types require.
      cached: usage.input_tokens_details?.cached_tokens ?? 0,
      written: usage.input_tokens_details?.cache_write_tokens ?? 0,
      output: usage.output_tokens,
      reasoning: usage.output_tokens_details?.reasoning_tokens ?? 0,
    },
    model: answer.model,
    id: answer.id,
  }
}

export function readMessages(answer: Anthropic.Message): ReadAnswer {
  const { content, usage } = answer
  const cached = usage.cache_read_input_tokens ?? 0
  const written = usage.cache_creation_input_tokens ?? 0
  return {
    text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    reasoning: content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
    calls: content.flatMap((block) =>
      block.type === 'tool_use'
        ? [{ id: block.id, name: block.name, input: JSON.stringify(block.input) }]
        : [],
    ),
    end: answer.stop_reason,
    counts: {
      input: usage.input_tokens + cached + written,
      cached,
      written,
      output: usage.output_tokens,
      reasoning: usage.output_tokens_details?.thinking_tokens ?? 0,
    },
    model: answer.model,
    id: answer.id,
  }
}
