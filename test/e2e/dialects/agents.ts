/** Agents on each SDK: they run the tools that the model calls and return its final text. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { generateText, isStepCount, type LanguageModel, streamText, tool } from 'ai'
import { ResponsesToolRunner } from 'openai/helpers/responses-tool-runner'
import { z } from 'zod'
import type { DialectName } from './scripted-answer.ts'
import { KEY, type World } from './world.ts'

export const QUESTION = 'Weather in Ulm and Łódź?'

/** The tool's result. */
const weather = (city: string) => `${city}: 20 degrees`

export interface ToolRun {
  text: string
  /** Arguments of the tool calls. */
  cities: string[]
}

/**
 * Runs the official SDK's tool runner. Anthropic's first requests a stored thread; `thread: false` turns that off, for an
 * upstream that would not even refuse it.
 */
export async function runTools(
  world: World,
  client: DialectName,
  model: string,
  stream: boolean,
  thread?: false,
): Promise<ToolRun> {
  const cities: string[] = []
  const look = (city: string) => {
    cities.push(city)
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
      ? world.openai.chat.completions.runTools({ ...body, stream: true })
      : world.openai.chat.completions.runTools(body)
    return { text: (await runner.finalContent()) ?? '', cities }
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
    const answer = await runner.run(world.openai, { model, input: QUESTION }, { stream })
    return { text: answer.output_text, cities }
  }
  const runner = world.anthropic.beta.messages.toolRunner({
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
  return { text: last.content.map((block) => (block.type === 'text' ? block.text : '')).join(''), cities }
}

/** The framework's model for a dialect; `compatible` is its client for OpenAI-compatible servers. */
export function frameworkModel(
  world: World,
  client: DialectName | 'compatible',
  model: string,
): LanguageModel {
  const to = { baseURL: `${world.gateway.base}/v1`, apiKey: KEY }
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

/** Runs an agent of the framework. `input` and `output` are the tokens of the last step. */
export async function runFramework(
  model: LanguageModel,
  stream: boolean,
): Promise<ToolRun & { reasoning: string; input: number | undefined; output: number | undefined }> {
  const cities: string[] = []
  const settings = {
    model,
    prompt: QUESTION,
    maxRetries: 0,
    // Otherwise it sends references to items of earlier answers, which only their upstream stores.
    providerOptions: { openai: { store: false } },
    stopWhen: isStepCount(4),
    tools: {
      weather: tool({
        description: 'Of a city',
        inputSchema: z.object({ city: z.string() }),
        execute: ({ city }) => {
          cities.push(city)
          return weather(city)
        },
      }),
    },
  }
  if (!stream) {
    const { text, usage, steps } = await generateText(settings)
    const reasoning = steps.map((step) => step.reasoningText ?? '').join('')
    return { text, cities, reasoning, input: usage.inputTokens, output: usage.outputTokens }
  }
  const failures: unknown[] = []
  const result = streamText({ ...settings, onError: ({ error }) => void failures.push(error) })
  await result.consumeStream()
  if (failures.length > 0) throw failures[0]
  const [text, usage, steps] = await Promise.all([result.text, result.usage, result.steps])
  const reasoning = steps.map((step) => step.reasoningText ?? '').join('')
  return { text, cities, reasoning, input: usage.inputTokens, output: usage.outputTokens }
}
