/** The response object of an answer and of a stream's lifecycle events. */
import { zeroUsage } from '../../../../../contract/usage.ts'
import type { ClientView } from '../../../core/codec.ts'
import type { ModelAnswer, ModelRequest } from '../../../core/neutral/types.ts'
import { writeUsage } from '../../usage.ts'
import type * as wire from '../../wire.ts'

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

  inProgress(): wire.Response {
    return this.#response({ status: 'in_progress', output: [] })
  }

  finished(
    ending: wire.Ending,
    output: wire.Response['output'],
    { usage, tier }: Pick<ModelAnswer, 'usage' | 'tier'>,
  ): wire.Response {
    const served: Pick<wire.Outcome, 'service_tier'> = tier === undefined ? {} : { service_tier: tier }
    return this.#response({
      completed_at: ending.status === 'completed' ? this.#client.created : null,
      usage: writeUsage(usage ?? zeroUsage()),
      ...ending,
      ...served,
      output,
    })
  }

  failed(error: { code: string; message: string }, output: wire.Response['output']): wire.Response {
    return this.#response({ status: 'failed', error, output })
  }

  #response(changing: wire.Outcome): wire.Response {
    return {
      ...this.#client.echo,
      ...changing,
      id: `resp_${this.#client.id}`,
      created_at: this.#client.created,
      model: this.#client.request.model,
    }
  }
}
