/** Recognises the ways in which upstreams say that a prompt is too long, and says it in one. */
import type { TokenNumbers } from '../../../errors.ts'
import type { UpstreamError } from './upstream-error.ts'
import { WORDS } from './words.ts'

export interface ContextLength {
  /** For the caller, with the numbers that agents read to shorten their prompt. */
  message: string
  /** Absent when the upstream named none. */
  tokens?: TokenNumbers
}

/**
 * `limit`: the context window; `used`: tokens asked for in all or, beside `output` and `asked`, of the input; `asked`:
 * output tokens, which only count where the input alone would fit.
 */
const WORDINGS = [
  // Anthropic
  /input length and `?max_tokens`? exceed context limit: (?<used>N) \+ (?<output>N) > (?<limit>N)/,
  /prompt is too long: (?<used>N) tokens > (?<limit>N) maximum/,
  // OpenAI, vLLM, DeepSeek, OpenRouter
  /maximum context length is (?<limit>N) tokens\D{1,60}N tokens \((?<used>N) (?:in the messages|of text input|in your prompt)[,;] (?<output>N) (?:in|for) the (?:completion|output)/,
  /too large: (?<asked>N)\.\D{1,60}context length is (?<limit>N) tokens\D{1,60}(?<used>N) input tokens/,
  /maximum context length is (?<limit>N) tokens\D{1,60}(?<used>N) (?:input )?tokens/,
  /exceed the configured limit of (?<limit>N) tokens\D{1,60}(?<used>N) tokens/,
  // vLLM
  /passed (?<used>N) input tokens and requested (?<asked>N) output tokens.{1,80}context length is only (?<limit>N) tokens/,
  /passed (?<used>N) input tokens.{1,80}context length is only (?<limit>N) tokens/,
  // llama.cpp, LM Studio
  /keep the first (?<used>N) tokens when.{1,80}context length of only (?<limit>N) tokens/,
  /request \((?<used>N) tokens\) exceeds the available context size \((?<limit>N) tokens\)/,
  // Gemini, xAI, Mistral
  /input token count \(?(?<used>N)\)? exceeds the maximum number of tokens allowed \(?(?<limit>N)/,
  /maximum prompt length is (?<limit>N) but the request contains (?<used>N) tokens/,
  /Prompt contains (?<used>N) tokens.{1,60}with (?<limit>N) maximum context length/,
].map((wording) => new RegExp(wording.source.replaceAll('N', '\\d[\\d,]{0,11}'), 'i'))

/** llama.cpp, OpenAI's responses, Bedrock, Anthropic: no numbers in the sentence. */
const WITHOUT_NUMBERS =
  /exceeds the available context size|exceeds the context window|input is too long|prompt is too long/i

const NUMBERLESS: ContextLength = { message: 'The prompt is longer than the context length of the model.' }

/** Undefined when the error is another one. */
export function contextLength({ fields, words, text }: UpstreamError): ContextLength | undefined {
  for (const wording of WORDINGS) {
    const found = wording.exec(text)?.groups
    if (found?.limit === undefined || found.used === undefined) continue
    const limit = numberOf(found.limit)
    const used = numberOf(found.used)
    const output = found.output ?? (used <= limit ? found.asked : undefined)
    return numbered(limit, used, output === undefined ? undefined : numberOf(output))
  }
  if (!words.some((word) => WORDS.contextLength.includes(word)) && !WITHOUT_NUMBERS.test(text)) {
    return undefined
  }
  const { n_ctx: limit, n_prompt_tokens: used } = fields
  if (isCount(limit) && isCount(used)) return numbered(limit, used)
  return NUMBERLESS
}

function numbered(limit: number, used: number, output?: number): ContextLength {
  const all = used + (output ?? 0)
  // Numbers that fit would send an agent to shorten its prompt for ever.
  if (all <= limit) return NUMBERLESS
  const asked =
    output === undefined
      ? `your messages resulted in ${used} tokens`
      : `you requested ${all} tokens (${used} in the messages, ${output} in the completion)`
  return {
    message: `This model's maximum context length is ${limit} tokens. However, ${asked}.`,
    tokens: { used: all, limit, ...(output !== undefined && { output }) },
  }
}

function numberOf(digits: string): number {
  return Number(digits.replaceAll(',', ''))
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
