/** Agents of each SDK: they ask, run the tools that the model calls, and give its last words. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { generateText, isStepCount, type LanguageModel, streamText, tool } from 'ai'
import { ResponsesToolRunner } from 'openai/helpers/responses-tool-runner'
import { z } from 'zod'
import { KEY, type Room } from './room.ts'
import type { DialectName } from './story.ts'

export const QUESTION = 'Weather in Ulm and Łódź?'

/** What the tool gives for a city. */
const weather = (city: string) => `${city}: 20 degrees`

export interface Told {
  text: string
  /** Cities that the tool was asked for. */
  asked: string[]
}

/**
 * Runs the tool runner of the official SDK. That of Anthropic first asks the upstream to keep the conversation, as a
 * thread; `thread` false: for an upstream that does not even refuse.
 */
export async function runTools(
  room: Room,
  client: DialectName,
  model: string,
  stream: boolean,
  thread?: false,
): Promise<Told> {
  const asked: string[] = []
  const look = (city: string) => {
    asked.push(city)
    return weather(city)
  }
  const parameters = {
    type: 'object' as const,
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  }
  if (client === 'chat') {
    const run = (input: { city: string }) => look(input.city)
    const body = {
      model,
      messages: [{ role: 'user' as const, content: QUESTION }],
      tools: [
        {
          type: 'function' as const,
          function: {
            name: 'weather',
            description: 'Of a city',
            parameters,
            parse: JSON.parse,
            function: run,
          },
        },
      ],
    }
    const runner = stream
      ? room.openai.chat.completions.runTools({ ...body, stream: true })
      : room.openai.chat.completions.runTools(body)
    return { text: (await runner.finalContent()) ?? '', asked }
  }
  if (client === 'responses') {
    const runner = new ResponsesToolRunner({
      functions: [
        {
          tool: { type: 'function', name: 'weather', description: 'Of a city', parameters, strict: true },
          execute: ({ city }) => look(String(city)),
        },
      ],
    })
    const answer = await runner.run(room.openai, { model, input: QUESTION }, { stream })
    return { text: answer.output_text, asked }
  }
  const runner = room.anthropic.beta.messages.toolRunner({
    model,
    max_tokens: 1000,
    messages: [{ role: 'user', content: QUESTION }],
    stream,
    ...(thread === false && { thread }),
    tools: [
      betaZodTool({
        name: 'weather',
        description: 'Of a city',
        inputSchema: z.object({ city: z.string() }),
        run: ({ city }) => look(city),
      }),
    ],
  })
  const last = await runner.runUntilDone()
  return { text: last.content.map((block) => (block.type === 'text' ? block.text : '')).join(''), asked }
}

/** A framework's model of the client's dialect; `compatible` is its client for OpenAI-like servers. */
export function frameworkModel(room: Room, client: DialectName | 'compatible', model: string): LanguageModel {
  const to = { baseURL: `${room.gateway.base}/v1`, apiKey: KEY }
  switch (client) {
    case 'chat':
      return createOpenAI(to).chat(model)
    case 'responses':
      return createOpenAI(to).responses(model)
    case 'messages':
      return createAnthropic(to)(model)
    case 'compatible':
      return createOpenAICompatible({ ...to, name: 'gateway', includeUsage: true })(model)
  }
}

/** Runs an agent of the framework; `usage` is that of its last step. */
export async function runFramework(
  model: LanguageModel,
  stream: boolean,
): Promise<Told & { reasoning: string; input: number | undefined; output: number | undefined }> {
  const asked: string[] = []
  const settings = {
    model,
    prompt: QUESTION,
    maxRetries: 0,
    // Else it refers to items of earlier answers, which only their upstream keeps.
    providerOptions: { openai: { store: false } },
    stopWhen: isStepCount(4),
    tools: {
      weather: tool({
        description: 'Of a city',
        inputSchema: z.object({ city: z.string() }),
        execute: ({ city }) => {
          asked.push(city)
          return weather(city)
        },
      }),
    },
  }
  if (!stream) {
    const { text, usage, steps } = await generateText(settings)
    const reasoning = steps.map((step) => step.reasoningText ?? '').join('')
    return { text, asked, reasoning, input: usage.inputTokens, output: usage.outputTokens }
  }
  const failures: unknown[] = []
  const result = streamText({ ...settings, onError: ({ error }) => void failures.push(error) })
  await result.consumeStream()
  if (failures.length > 0) throw failures[0]
  const [text, usage, steps] = await Promise.all([result.text, result.usage, result.steps])
  const reasoning = steps.map((step) => step.reasoningText ?? '').join('')
  return { text, asked, reasoning, input: usage.inputTokens, output: usage.outputTokens }
}
