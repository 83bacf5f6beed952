/** Requests in each dialect, with one feature each. */
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod'
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import type { DialectName } from './scripted-answer.ts'
import { question, type RequestParams, type World } from './world.ts'

/** One white pixel. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
export const IMAGE_URL = 'https://images.example.com/cat.png'
export const PDF = Buffer.from('%PDF-1.4 not much of one').toString('base64')
export const PNG_DATA = `data:image/png;base64,${PNG}`
export const PDF_DATA = `data:application/pdf;base64,${PDF}`

export const IMAGES: RequestParams = {
  chat: {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is here?' },
          { type: 'image_url', image_url: { url: PNG_DATA } },
          { type: 'image_url', image_url: { url: IMAGE_URL } },
        ],
      },
    ],
  },
  responses: {
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is here?' },
          { type: 'input_image', image_url: PNG_DATA, detail: 'auto' },
          { type: 'input_image', image_url: IMAGE_URL, detail: 'auto' },
        ],
      },
    ],
  },
  messages: {
    max_tokens: 100,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is here?' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
          { type: 'image', source: { type: 'url', url: IMAGE_URL } },
        ],
      },
    ],
  },
}
export const PDFS: RequestParams = {
  chat: {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'file', file: { file_data: PDF_DATA, filename: 'paper.pdf' } },
          { type: 'text', text: 'Summarise' },
        ],
      },
    ],
  },
  responses: {
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_file', file_data: PDF_DATA, filename: 'paper.pdf' },
          { type: 'input_text', text: 'Summarise' },
        ],
      },
    ],
  },
  messages: {
    max_tokens: 100,
    messages: [
      {
        role: 'user',
        content: [
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: PDF },
            title: 'paper.pdf',
          },
          { type: 'text', text: 'Summarise' },
        ],
      },
    ],
  },
}

/** The responses dialect has no stop sequences. */
export const STOP: RequestParams = {
  chat: { messages: [{ role: 'user', content: 'Count' }], stop: ['END'] },
  responses: { input: 'Count' },
  messages: { max_tokens: 100, messages: [{ role: 'user', content: 'Count' }], stop_sequences: ['END'] },
}

const SHAPE = z.object({ city: z.string(), degrees: z.number() })
/** An object with the requested shape. */
export const OBJECT = { city: 'Ulm', degrees: 21.5 }

/** Requests such an object with the SDKs' parsing helpers, which throw if the answer does not fit. */
export async function askParsed(
  { openai, anthropic }: Pick<World, 'openai' | 'anthropic'>,
  client: DialectName,
  model: string,
  stream: boolean,
): Promise<unknown> {
  const { chat, responses, messages } = question('Weather as JSON')
  if (client === 'chat') {
    const body = { ...chat, model, response_format: zodResponseFormat(SHAPE, 'weather') }
    const answer = stream
      ? await openai.chat.completions.stream(body).finalChatCompletion()
      : await openai.chat.completions.parse(body)
    return answer.choices[0]?.message.parsed
  }
  if (client === 'responses') {
    const body = { ...responses, model, text: { format: zodTextFormat(SHAPE, 'weather') } }
    if (!stream) return (await openai.responses.parse(body)).output_parsed
    return (await openai.responses.stream(body).finalResponse()).output_parsed
  }
  const body = { ...messages, model, output_config: { format: zodOutputFormat(SHAPE) } }
  if (!stream) return (await anthropic.messages.parse(body)).parsed_output
  return (await anthropic.messages.stream(body).finalMessage()).parsed_output
}
