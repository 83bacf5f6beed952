/** Recognises the ways in which upstreams say that a prompt is too long, and says it in one. */

const CODES = ['context_length_exceeded', 'exceed_context_size_error']
/** The sentences looked for stand at the beginning. */
const MAX_TEXT = 2000

/** `limit`: the context window; `used`: tokens asked for in all or, beside `output`, of the input. */
const WORDINGS = [
  // Anthropic
  /input length and `?max_tokens`? exceed context limit: (?<used>N) \+ (?<output>N) > (?<limit>N)/,
  /prompt is too long: (?<used>N) tokens > (?<limit>N) maximum/,
  // OpenAI, vLLM, DeepSeek, OpenRouter
  /maximum context length is (?<limit>N) tokens\D{1,60}N tokens \((?<used>N) (?:in the messages|of text input), (?<output>N) in the (?:completion|output)/,
  /maximum context length is (?<limit>N) tokens\D{1,60}(?<used>N) (?:input )?tokens/,
  /exceed the configured limit of (?<limit>N) tokens\D{1,60}(?<used>N) tokens/,
  // vLLM
  /passed (?<used>N) input tokens.{1,80}context length is only (?<limit>N) tokens/,
  // llama.cpp
  /request \((?<used>N) tokens\) exceeds the available context size \((?<limit>N) tokens\)/,
  // Gemini, xAI, Mistral
  /input token count \(?(?<used>N)\)? exceeds the maximum number of tokens allowed \(?(?<limit>N)/,
  /maximum prompt length is (?<limit>N) but the request contains (?<used>N) tokens/,
  /Prompt contains (?<used>N) tokens.{1,60}with (?<limit>N) maximum context length/,
].map((wording) => new RegExp(wording.source.replaceAll('N', '\\d[\\d,]{0,11}'), 'i'))

/**
 * The sentence for the caller, with the numbers that agents read to shorten their prompt; undefined when the error
 * is another one. `words` are the error's codes in lower case.
 */
export function contextLengthMessage(error: Record<string, unknown>, words: string[]): string | undefined {
  const text = typeof error.message === 'string' ? error.message.slice(0, MAX_TEXT) : ''
  for (const wording of WORDINGS) {
    const found = wording.exec(text)?.groups
    if (found?.limit === undefined || found.used === undefined) continue
    return sentence(numberOf(found.limit), numberOf(found.used), found.output && numberOf(found.output))
  }
  if (!words.some((word) => CODES.includes(word)) && !/exceeds the available context size/.test(text)) {
    return undefined
  }
  const { n_ctx: limit, n_prompt_tokens: used } = error
  if (isCount(limit) && isCount(used)) return sentence(limit, used)
  return 'The prompt is longer than the context length of the model.'
}

function sentence(limit: number, used: number, output?: number | ''): string {
  const asked =
    typeof output === 'number'
      ? `you requested ${used + output} tokens (${used} in the messages, ${output} in the completion)`
      : `your messages resulted in ${used} tokens`
  return `This model's maximum context length is ${limit} tokens. However, ${asked}.`
}

function numberOf(digits: string): number {
  return Number(digits.replaceAll(',', ''))
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
