/** The response object of an answer and of a stream's lifecycle events. */
import { type Usage, zeroUsage } from '../../../../../contract/usage.ts'
import type { ClientView } from '../../../core/codec.ts'
import type { ModelRequest } from '../../../core/neutral/types.ts'
import { writeUsage } from '../../usage.ts'

/** Facts that an upstream sends before the first token. */
interface Head {
  id?: string
  model?: string
  created?: number
}

/** Facts that an upstream sends at the end of an answer. */
interface Tail {
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

/** What a response object takes from its request. */
interface ResponseContext extends Pick<ClientView, 'echo' | 'id' | 'created'> {
  request: Pick<ModelRequest, 'model'>
}

/** Writes the response objects of one answer. */
export class ResponseWriter {
  readonly #client: ResponseContext

  constructor(client: ResponseContext) {
    this.#client = client
  }

  inProgress(): Record<string, unknown> {
    return this.#response({ status: 'in_progress', output: [] })
  }

  /** `ending`: status and incomplete_details. */
  finished(
    ending: Record<string, unknown>,
    output: object[],
    { usage, tier }: Tail,
  ): Record<string, unknown> {
    return this.#response({
      completed_at: ending.status === 'completed' ? this.#client.created : null,
      usage: writeUsage(usage ?? zeroUsage()),
      ...ending,
      ...(tier !== undefined && { service_tier: tier }),
      output,
    })
  }

  failed(error: { code: string; message: string }, output: object[]): Record<string, unknown> {
    return this.#response({ status: 'failed', error, output })
  }

  #response(changing: Record<string, unknown>): Record<string, unknown> {
    return {
      ...this.#client.echo,
      ...changing,
      id: `resp_${this.#client.id}`,
      created_at: this.#client.created,
      model: this.#client.request.model,
    }
  }
}
