/** A conversation of two turns with a tool call, in which the client sends back the items that it received. */
import type Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import { type ReadAnswer, readChat, readMessages, readResponses } from './read-answer.ts'
import type { DialectName } from './scripted-answer.ts'
import type { World } from './world.ts'

const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }
const QUESTION = 'Weather in Ulm?'
export const RESULT = 'sunny'

/** Returns both answers. The second request contains the first answer as the SDK returned it, and the tool result. */
export async function converse(
  world: World,
  client: DialectName,
  model: string,
  stream: boolean,
): Promise<[ReadAnswer, ReadAnswer]> {
  if (client === 'chat') return chat(world, model, stream)
  return client === 'responses' ? responses(world, model, stream) : messages(world, model, stream)
}

async function chat({ openai }: World, model: string, stream: boolean): Promise<[ReadAnswer, ReadAnswer]> {
  const history: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: QUESTION }]
  const turn = async () => {
    const body: OpenAI.ChatCompletionCreateParamsNonStreaming = {
      model,
      messages: history,
      reasoning_effort: 'high',
      tools: [{ type: 'function', function: { name: 'weather', parameters: SCHEMA } }],
    }
    if (!stream) return openai.chat.completions.create(body)
    return accumulate(await openai.chat.completions.create({ ...body, stream: true }))
  }
  const first = await turn()
  const { message } = first.choices[0] as OpenAI.ChatCompletion.Choice
  history.push(message, { role: 'tool', tool_call_id: message.tool_calls?.[0]?.id ?? '', content: RESULT })
  return [readChat(first), readChat(await turn())]
}

/** Accumulates a stream as agents do: of unknown fields the SDK's helper keeps only the last delta. */
async function accumulate(chunks: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<OpenAI.ChatCompletion> {
  const calls: OpenAI.ChatCompletionMessageFunctionToolCall[] = []
  const details: object[] = []
  let [text, reasoning, end] = ['', '', null as string | null]
  let last: OpenAI.ChatCompletionChunk | undefined
  for await (const chunk of chunks) {
    last = chunk
    const [choice] = chunk.choices
    const delta = choice?.delta as
      | (OpenAI.ChatCompletionChunk.Choice.Delta & {
          reasoning_content?: string
          reasoning_details?: object[]
        })
      | undefined
    text += delta?.content ?? ''
    reasoning += delta?.reasoning_content ?? ''
    details.push(...(delta?.reasoning_details ?? []))
    for (const { index, id, function: named } of delta?.tool_calls ?? []) {
      calls[index] ??= {
        id: id ?? '',
        type: 'function',
        function: { name: named?.name ?? '', arguments: '' },
      }
      calls[index].function.arguments += named?.arguments ?? ''
    }
    end = choice?.finish_reason ?? end
  }
  const message = {
    role: 'assistant' as const,
    content: text === '' ? null : text,
    refusal: null,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  const choice = { index: 0, logprobs: null, finish_reason: end, message } as OpenAI.ChatCompletion.Choice
  const { id = '', model = '', created = 0 } = last ?? {}
  return { id, model, created, object: 'chat.completion', choices: [choice] }
}

async function responses(
  { openai }: World,
  model: string,
  stream: boolean,
): Promise<[ReadAnswer, ReadAnswer]> {
  const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: QUESTION }]
  const turn = () => {
    const body: Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'> = {
      model,
      input,
      store: false,
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'high', summary: 'auto' },
      tools: [{ type: 'function', name: 'weather', parameters: SCHEMA, strict: false }],
    }
    return stream ? openai.responses.stream(body).finalResponse() : openai.responses.create(body)
  }
  const first = await turn()
  input.push(...(first.output as OpenAI.Responses.ResponseInputItem[]))
  const [call] = first.output.flatMap((item) => (item.type === 'function_call' ? [item.call_id] : []))
  input.push({ type: 'function_call_output', call_id: call ?? '', output: RESULT })
  return [readResponses(first), readResponses(await turn())]
}

async function messages(
  { anthropic }: World,
  model: string,
  stream: boolean,
): Promise<[ReadAnswer, ReadAnswer]> {
  const history: Anthropic.MessageParam[] = [{ role: 'user', content: QUESTION }]
  const turn = () => {
    const body: Anthropic.MessageCreateParamsNonStreaming = {
      model,
      max_tokens: 4000,
      messages: history,
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: 'high' },
      tools: [{ name: 'weather', input_schema: SCHEMA }],
    }
    return stream ? anthropic.messages.stream(body).finalMessage() : anthropic.messages.create(body)
  }
  const first = await turn()
  const call = first.content.find((block) => block.type === 'tool_use')
  history.push(
    { role: 'assistant', content: first.content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: call?.id ?? '', content: RESULT }] },
  )
  return [readMessages(first), readMessages(await turn())]
}
