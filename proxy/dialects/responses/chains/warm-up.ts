/** The answer to a request that only prepares its conversation. The gateway calls no upstream. */
import type { ParsedRequest } from '../../core/request.ts'
import { echoOf } from '../codec/answer/answer-echo.ts'
import { EventWriter } from '../codec/answer/answer-events.ts'
import { writeFinish } from '../codec/answer/answer-finish.ts'
import { ResponseWriter } from '../codec/answer/answer-object.ts'
import type { ResponsesOwn } from '../request.ts'

/** The events of an answer without output or usage. `id`: random letters and digits; `created`: seconds since the epoch. */
export function warmUp(request: ParsedRequest<ResponsesOwn>, id: string, created: number): Buffer {
  const context = { echo: echoOf(request), id, created, request: { model: request.head.model } }
  const writer = new ResponseWriter(context)
  const events = new EventWriter()
  const response = writer.inProgress()
  events.event('response.created', { response })
  events.event('response.in_progress', { response })
  const finished = writer.finished(writeFinish({ reason: 'stop' }), [], {})
  events.event('response.completed', { response: finished })
  return Buffer.from(events.take())
}
