/** Headers of answers. */
import { z } from 'zod'

interface Header {
  description: string
  schema: z.ZodType
  /** Whether every answer that may have it does. */
  required: boolean
}

export const HEADERS: Record<string, Header> = {
  'x-request-id': {
    description: 'Names the request in the log of the gateway.',
    schema: z.string(),
    required: true,
  },
  'request-id': {
    description: 'The same, as messages clients look for it.',
    schema: z.string(),
    required: true,
  },
  'x-sluice-error': {
    description: 'The code of the error.',
    schema: z.string(),
    required: true,
  },
  'x-should-retry': {
    description: 'Set where sending the request again would not help.',
    schema: z.literal('false'),
    required: false,
  },
  'retry-after': {
    description: 'Seconds after which the request may be sent again.',
    schema: z.int().min(0),
    required: false,
  },
  'x-sluice-dropped': {
    description: 'What of the request its upstream does not know and was left out.',
    schema: z.string(),
    required: false,
  },
  'x-sluice-estimated': {
    description: 'Set where the upstream was not asked.',
    schema: z.literal('true'),
    required: false,
  },
}

export const ANSWER_HEADERS = ['x-request-id', 'request-id']
export const ERROR_HEADERS = [...ANSWER_HEADERS, 'x-sluice-error', 'x-should-retry', 'retry-after']
