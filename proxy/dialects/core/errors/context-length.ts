/** Recognises an error about a prompt that is too long, in any vendor's wording. */
import type { TokenNumbers } from '../../../errors.ts'
import type { UpstreamError } from './upstream-error.ts'
import { allWordings, hasMeaning } from './wordings.ts'

/**
 * The length of a prompt, as an error reports it. Groups of a wording: `limit` is the context length; `used` the requested
 * tokens in all or, beside `output` and `requested`, those of the input; `requested` are output tokens that count only if
 * the input alone would fit.
 */
interface ContextLength {
  /** For the client, with the numbers by which agents shorten their prompt. */
  message: string
  /** Absent when the upstream named none. */
  tokens?: TokenNumbers
}

const NUMBERLESS: ContextLength = { message: 'The prompt is longer than the context length of the model.' }

/** Undefined for any other error. */
export function contextLength(error: UpstreamError): ContextLength | undefined {
  const { fields, text } = error
  const all = allWordings()
  for (const wording of all.flatMap(({ contextLength = [] }) => contextLength)) {
    const found = wording.exec(text)?.groups
    if (found?.limit === undefined || found.used === undefined) continue
    const limit = numberOf(found.limit)
    const used = numberOf(found.used)
    const output = found.output ?? (used <= limit ? found.requested : undefined)
    return numbered(limit, used, output === undefined ? undefined : numberOf(output))
  }
  const isAlone = all.some(({ contextLengthAlone }) => contextLengthAlone?.test(text))
  if (!isAlone && !hasMeaning(error, 'contextLength')) return undefined
  const { n_ctx: limit, n_prompt_tokens: used } = fields
  if (isCount(limit) && isCount(used)) return numbered(limit, used)
  return NUMBERLESS
}

function numbered(limit: number, used: number, output?: number): ContextLength {
  const all = used + (output ?? 0)
  // With numbers that fit, an agent would shorten its prompt for ever.
  if (all <= limit) return NUMBERLESS
  const requested =
    output === undefined
      ? `your messages resulted in ${used} tokens`
      : `you requested ${all} tokens (${used} in the messages, ${output} in the completion)`
  return {
    message: `This model's maximum context length is ${limit} tokens. However, ${requested}.`,
    tokens: { used: all, limit, ...(output !== undefined && { output }) },
  }
}

function numberOf(digits: string): number {
  return Number(digits.replaceAll(',', ''))
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
