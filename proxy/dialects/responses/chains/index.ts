/**
 * Conversations that continue with `previous_response_id`
 * (https://platform.openai.com/docs/guides/conversation-state). Items are kept as JSON texts, so numbers and the order
 * of keys never change.
 */
import type { Chains } from '../../core/chains.ts'
import { answerIdOf } from '../../core/neutral/ids.ts'
import type { ResponsesOwn } from '../request.ts'
import { historyOf } from './history.ts'
import { keptItems } from './input.ts'
import { itemsOf } from './output.ts'
import { expand, type Parse, resolve } from './rewrite.ts'
import { ResponseTap } from './tap.ts'
import { warmUp } from './warm-up.ts'

/** `parse` reads the requests of the endpoint. */
export function createChains(parse: Parse): Chains<ResponsesOwn> {
  return {
    position: ({ own }) => own.position,
    input: keptItems,
    history: historyOf,
    expand: (request, history, limits) => expand(request, history, limits, parse),
    responseOf: (reference) => {
      const id = answerIdOf(reference)
      return id === undefined ? undefined : `resp_${id}`
    },
    itemsOf,
    resolve: (request, items, limits) => resolve(request, items, limits, parse),
    tap: () => new ResponseTap(),
    warmUp,
  }
}
