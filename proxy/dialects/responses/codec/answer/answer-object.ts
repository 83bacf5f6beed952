/** The response object: of an answer, and of the lifecycle events of a stream. */
import { type Usage, zeroUsage } from '../../../../../contract/usage.ts'
import type { ClientView } from '../../../core/dialect.ts'
import type { Ext, ModelRequest } from '../../../core/neutral/types.ts'
import { writeUsage } from '../../usage.ts'
import { echoOf } from './answer-echo.ts'

/** Fields of a response that are typed in the neutral form; all others are kept in the answer's ext. */
const TYPED = ['id', 'created_at', 'model', 'output', 'usage', 'service_tier', 'status', 'incomplete_details']

/** What is known of an answer before its first token. */
export interface Head {
  id?: string
  model?: string
  created?: number
}

/** What an answer has when it is over. */
export interface Tail {
  usage?: Usage
  tier?: string
}

export function readHead(response: Record<string, unknown>): Head {
  const { id, model, created_at: created } = response
  return {
    ...(typeof id === 'string' && { id }),
    ...(typeof model === 'string' && { model }),
    ...(typeof created === 'number' && { created }),
  }
}

/** Everything else that a response says, for the same dialect. */
export function responseExt(response: Record<string, unknown>): Ext {
  const fields = Object.fromEntries(Object.entries(response).filter(([field]) => !TYPED.includes(field)))
  if ('service_tier' in response && typeof response.service_tier !== 'string') {
    fields.service_tier = response.service_tier
  }
  const ext: Ext = { dialect: 'responses', at: '', fields }
  if ('usage' in response) ext.shape = { usage: response.usage }
  return ext
}

/** What a response object tells of its request. */
export interface Asked extends Pick<ClientView, 'parsed' | 'id' | 'created'> {
  request: Pick<ModelRequest, 'model'>
}

/** Makes the response objects of one answer. */
export class ResponseWriter {
  readonly #client: Asked
  readonly #head: Head
  /** Of an answer that this dialect wrote. */
  readonly #own: Ext | undefined
  /** The fields that stay the same from the first event to the last. */
  readonly #constant: Record<string, unknown>

  /** `ext` is that of the answer, or of its start. */
  constructor(client: Asked, head: Head, ext: Ext | undefined) {
    this.#client = client
    const own = ownOf(ext)
    this.#own = own
    this.#head = own === undefined ? {} : head
    this.#constant = own === undefined ? echoOf(client.parsed) : { object: 'response', ...own.fields }
  }

  begun(): Record<string, unknown> {
    const completedAt = 'completed_at' in this.#constant ? { completed_at: null } : {}
    return this.#response({ ...completedAt, status: 'in_progress', output: [] })
  }

  /** `ending`: status and incomplete_details. `ext` is that of the finish of a stream. */
  finished(
    ending: Record<string, unknown>,
    output: object[],
    tail: Tail,
    ext?: Ext,
  ): Record<string, unknown> {
    const own = ownOf(ext) ?? this.#own
    return this.#response({
      ...(own === undefined ? this.#fresh(ending, tail) : { ...own.fields, ...own.shape }),
      ...ending,
      ...(tail.tier !== undefined && { service_tier: tail.tier }),
      output,
    })
  }

  failed(error: { code: string; message: string }, output: object[]): Record<string, unknown> {
    return this.#response({ status: 'failed', error, output })
  }

  #fresh({ status }: Record<string, unknown>, { usage }: Tail): Record<string, unknown> {
    return {
      completed_at: status === 'completed' ? this.#client.created : null,
      usage: writeUsage(usage ?? zeroUsage()),
    }
  }

  #response(changing: Record<string, unknown>): Record<string, unknown> {
    return {
      ...this.#constant,
      ...changing,
      id: this.#head.id ?? `resp_${this.#client.id}`,
      created_at: this.#head.created ?? this.#client.created,
      model: this.#client.request.model,
    }
  }
}

function ownOf(ext: Ext | undefined): Ext | undefined {
  return ext?.dialect === 'responses' ? ext : undefined
}
