/** Fails answers that have another value where text belongs: without this, the client silently loses the model's text. */
import type { UpstreamFailure } from '../../../errors.ts'

/** The failure of a whole answer with status 200 that has no use. */
export function badAnswer(detail: string): UpstreamFailure {
  return { class: 'unknown', status: 200, detail }
}

class UnreadableAnswer extends Error {
  override name = 'UnreadableAnswer'
}

/** A string of an answer; '' for null and absent. Throws for anything else, see readable(). */
export function contentText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return ''
  throw new UnreadableAnswer()
}

/** A list of an answer; empty for null and absent. Throws for anything else, see readable(). */
export function contentList(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  if (value === undefined || value === null) return []
  throw new UnreadableAnswer()
}

/** A call's input as text; some upstreams send an object. Throws when it nests too deep, see readable(). */
export function inputText(value: unknown): string {
  return typeof value === 'string'
    ? value
    : value === undefined || value === null
      ? ''
      : JSON.stringify(value)
}

/** The result of `read`; a failure when a value is unreadable or nests too deep for JSON.stringify. */
export function readable<T>(read: () => T): T | UpstreamFailure {
  try {
    return read()
  } catch (error) {
    return unreadable(error)
  }
}

/** The failure for an error of contentText, contentList or inputText. Rethrows any other error. */
export function unreadable(error: unknown): UpstreamFailure {
  if (error instanceof UnreadableAnswer) return { class: 'unknown', detail: 'unreadable_answer' }
  if (error instanceof RangeError) return { class: 'unknown', detail: 'answer_too_deep' }
  throw error
}
