/** What an operation of the document is made of, before it is written as OpenAPI. */
import type { z } from 'zod'
import type { ErrorCode } from '../../../proxy/errors.ts'

/** Whose shape the errors have: that of the operation's own SDKs, or of the family whose header the client sends. */
export type ErrorFamily = 'openai' | 'anthropic' | 'either'

/** By media type. */
export type Content = Record<string, z.ZodType>

export interface Answer {
  description: string
  content?: Content
  /** Names of headers in `headers.ts`, beside those that every answer has. */
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
  /** Of errors, beside those that any request may meet. */
  codes: readonly ErrorCode[]
  family: ErrorFamily
  /** Not the gateway's keys, but what the path has instead. */
  security?: Record<string, string[]>[]
  /** Not below /api as well. */
  alone?: true
  /** Whatever else the answer may be. */
  otherwise?: Answer
}

export const JSON_TYPE = 'application/json'
export const EVENTS_TYPE = 'text/event-stream'
