/** Headers of answers. */
import { z } from 'zod'

interface Header {
  description: string
  schema: z.ZodType
  /** Whether every answer that lists the header has it. */
  required: boolean
}

export const HEADERS: Record<string, Header> = {
  'x-request-id': {
    description: 'The id of the request in the log of the gateway.',
    schema: z.string(),
    required: true,
  },
  'request-id': {
    description: 'The same id, in the header that messages clients read.',
    schema: z.string(),
    required: true,
  },
  'x-sluice-error': {
    description: 'The code of the error.',
    schema: z.string(),
    required: true,
  },
  'x-should-retry': {
    description: 'Present where a retry would not help.',
    schema: z.literal('false'),
    required: false,
  },
  'retry-after': {
    description: 'Seconds after which the client may retry.',
    schema: z.int().min(0),
    required: false,
  },
  'x-sluice-dropped': {
    description: 'Fields of the request that the conversion dropped or changed.',
    schema: z.string(),
    required: false,
  },
  'x-sluice-estimated': {
    description: 'Present where the gateway counted without the upstream.',
    schema: z.literal('true'),
    required: false,
  },
}

export const ANSWER_HEADERS = ['x-request-id', 'request-id']
export const ERROR_HEADERS = [...ANSWER_HEADERS, 'x-sluice-error', 'x-should-retry', 'retry-after']
