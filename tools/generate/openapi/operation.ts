/** An operation of the document, before it is written as OpenAPI. */
import type { z } from 'zod'
import type { ErrorCode } from '../../../proxy/errors.ts'

/** The shape of errors. `either`: the client's headers decide. */
export type ErrorFamily = 'openai' | 'anthropic' | 'either'

/** By media type. */
export type Content = Record<string, z.ZodType>

export interface Answer {
  description: string
  content?: Content
  /** Headers in `headers.ts` that not every answer has. */
  headers?: string[]
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  description: string
  schema: z.ZodType
}

export interface Operation {
  method: 'get' | 'post' | 'delete'
  path: string
  id: string
  tag: string
  summary: string
  description?: string
  parameters?: Parameter[]
  request?: Content
  /** By status. */
  answers: Record<number, Answer>
  /** Error codes, beside those that any request may get. */
  codes: readonly ErrorCode[]
  family: ErrorFamily
  /** In place of the gateway's keys. */
  security?: Record<string, string[]>[]
  /** The path does not exist below /api too. */
  alone?: true
  /** The answer with any other status. */
  otherwise?: Answer
}

export const JSON_TYPE = 'application/json'
export const EVENTS_TYPE = 'text/event-stream'
