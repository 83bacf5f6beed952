/** The lane between equal dialects: bytes pass, except for single values that are replaced in place. */
import type { UpstreamFailure } from '../../../errors.ts'
import type { ByteLane, OutputLimitEdit } from '../byte-lane.ts'
import type { ClientApi } from '../dialect.ts'
import { badAnswer } from '../errors/unreadable.ts'
import { looksLikeStream } from '../hub/whole.ts'
import type { Change } from '../json/edit.ts'
import { cutsOf } from '../json/edit.ts'
import { unlessTooDeep } from '../json/value.ts'
import { type Losses, NO_LOSSES } from '../neutral/losses.ts'
import type { ParsedRequest } from '../request.ts'
import { RenamingObserver, renameInAnswer, renameInEvents } from './client-model.ts'
import type { Lane } from './lane.ts'

export interface ByteTarget {
  /** Below the channel's base URL. */
  path: string
  /** Upstream model name. */
  model: string
  /** Show the client the model name that it sent. */
  rewriteModel: boolean
  addStreamUsage: boolean
  limit?: OutputLimitEdit | undefined
  /** The feature of the channel; absent: true. */
  finishReason?: boolean
  /** Vendor state that was opened or removed; absent: the request has no sealed state. */
  state?: { changes: Change[]; losses: Losses } | undefined
}

export function byteLane(
  { byteLane: bytes }: Pick<ClientApi, 'byteLane'>,
  request: ParsedRequest,
  target: ByteTarget,
): Lane {
  const { path, model, addStreamUsage, finishReason, limit, state } = target
  const cuts = state === undefined ? [] : cutsOf(request.body, state.changes)
  const rename = target.rewriteModel ? bytes.modelAt : undefined
  const name = request.head.model
  return {
    kind: 'byte',
    path,
    body: bytes.splice(request, { model, addStreamUsage, limit, cuts }),
    outputLimit: limit?.tokens,
    contentType: request.contentType,
    headers: bytes.upstreamHeaders(request),
    losses: state?.losses ?? NO_LOSSES,
    hasState: state !== undefined,
    readAnswer(body, asStream) {
      const whole = asStream ? body : unstreamed(bytes, body, request, finishReason)
      if (!Buffer.isBuffer(whole)) return whole
      const answer = bytes.readAnswer(whole, request, asStream)
      if (rename === undefined || !('body' in answer)) return answer
      const renamed = (asStream ? renameInEvents : renameInAnswer)(answer.body, rename, name)
      return { ...answer, body: renamed }
    },
    observe(maxEventBytes) {
      const observer = bytes.observe(request, maxEventBytes, addStreamUsage, finishReason)
      return rename === undefined ? observer : new RenamingObserver(observer, rename, name)
    },
  }
}

/** The body, or the whole answer in it when the upstream sent an unrequested stream. */
function unstreamed(
  bytes: ByteLane,
  body: Buffer,
  request: ParsedRequest,
  finishReason: boolean | undefined,
): Buffer | UpstreamFailure {
  const { fromStream } = bytes
  if (fromStream === undefined || !looksLikeStream(body)) return body
  const observer = bytes.observe(request, body.length, false, finishReason)
  const passed = [observer.push(body), observer.flush()].filter((chunk) => chunk !== undefined)
  if (observer.failure !== undefined) return { ...observer.failure, status: 200 }
  if (!observer.finished) return { class: 'transient', status: 200, detail: 'cut_stream' }
  const answer = unlessTooDeep(() => Buffer.from(JSON.stringify(fromStream(Buffer.concat(passed)))))
  return answer ?? badAnswer('answer_too_deep')
}
