/** Why an answer ended: `status` and `incomplete_details`, both ways. */

import { isRecord } from '../../../core/json/value.ts'
import type { Finish } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'

/** Reasons for which the model stopped by itself or was stopped, rather than being cut off. */
const STOPPING_REASONS = ['max_messages', 'steered']

/** The finish of a complete response. `hasCalls`: the client has tool calls to run. */
export function readFinish(response: Record<string, unknown>, hasCalls: boolean): Finish {
  const finish: Finish = isIncomplete(response)
    ? incompleteFinish(response.incomplete_details)
    : { reason: 'stop' }
  if (finish.reason === 'stop' && hasCalls) finish.reason = 'tool-calls'
  return finish
}

/** Some upstreams leave out the status and send only the details. */
function isIncomplete({ status, incomplete_details: details }: Record<string, unknown>): boolean {
  return status === 'incomplete' || (status === undefined && isRecord(details))
}

function incompleteFinish(details: unknown): Finish {
  const reason = isRecord(details) ? details.reason : undefined
  if (reason === 'content_filter') return { reason: 'content-filter' }
  if (typeof reason !== 'string' || reason === 'max_output_tokens') return { reason: 'length' }
  return { reason: STOPPING_REASONS.includes(reason) ? 'stop' : 'length', raw: reason }
}

/** `status` and `incomplete_details`. */
export function writeFinish(finish: Finish): wire.Ending {
  const reason = incompleteReason(finish)
  if (reason === undefined) return { status: 'completed', incomplete_details: null }
  return { status: 'incomplete', incomplete_details: { reason } }
}

/** True if the answer was cut in its last item. */
export function isCut(finish: Finish): boolean {
  return incompleteReason(finish) !== undefined
}

function incompleteReason({ reason }: Finish): 'max_output_tokens' | 'content_filter' | undefined {
  if (reason === 'length') return 'max_output_tokens'
  return reason === 'content-filter' ? 'content_filter' : undefined
}
