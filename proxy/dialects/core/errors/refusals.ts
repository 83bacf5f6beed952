/**
 * Refusals that agents act on, said in fixed sentences: they look for these words, and for the numbers in them. Only
 * numbers, levels of effort and fields of the client's own request are taken over.
 */
import { EFFORTS } from '../../../../contract/profiles.ts'

interface Refusal {
  /** `#` stands for a number. */
  wording: RegExp
  /** Gets the numbers in their order. */
  say: (...numbers: string[]) => string
}

const REFUSALS: readonly Refusal[] = [
  {
    wording: /image exceeds # MB maximum: # bytes > # bytes/,
    say: (limit, bytes, most) => `image exceeds ${limit} MB maximum: ${bytes} bytes > ${most} bytes.`,
  },
  {
    wording: /image dimensions exceed max allowed size(?: for many-image requests)?: # pixels/,
    say: (pixels) => `image dimensions exceed max allowed size: ${pixels} pixels.`,
  },
  { wording: /maximum of # PDF pages/, say: (pages) => `A maximum of ${pages} PDF pages may be provided.` },
  { wording: /PDF specified was not valid/, say: () => 'The PDF specified was not valid.' },
  { wording: /PDF specified is password protected/, say: () => 'The PDF specified is password protected.' },
  {
    wording: /.?tool_use.? ids were found without .?tool_result.? blocks immediately after/,
    say: () => '`tool_use` ids were found without `tool_result` blocks immediately after.',
  },
  {
    wording: /unexpected .?tool_use_id.? found in .?tool_result.? blocks/,
    say: () => 'unexpected `tool_use_id` found in `tool_result` blocks.',
  },
  { wording: /.?tool_use.? ids must be unique/, say: () => '`tool_use` ids must be unique.' },
  {
    wording: /assistant message with .?tool_calls.? must be followed by tool messages/,
    say: () =>
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
  },
  {
    wording: /No tool output found for (?:function|custom tool) call/,
    say: () => 'No tool output found for a tool call of the input.',
  },
  {
    wording: /does not support assistant message prefill/,
    say: () =>
      'This model does not support assistant message prefill. The conversation must end with a user message.',
  },
]

function withNumbers(wording: RegExp): RegExp {
  return new RegExp(wording.source.replaceAll('#', '(\\d{1,12})'), 'i')
}

const KNOWN: readonly Refusal[] = REFUSALS.map(({ wording, say }) => ({ wording: withNumbers(wording), say }))

/** The sentence for a refusal of one of the known kinds, else undefined. `param` is the field that it is about. */
export function knownRefusal(text: string, param: string | undefined): string | undefined {
  for (const { wording, say } of KNOWN) {
    const found = wording.exec(text)
    if (found !== null) return say(...found.slice(1))
  }
  if (param !== undefined && /extra inputs are not permitted/i.test(text)) {
    return `${param}: Extra inputs are not permitted.`
  }
  return undefined
}

/** Anthropic; OpenAI; Anthropic for a model without levels. */
const EFFORT =
  /effort level '(\w{3,7})'|effort' does not support '(\w{3,7})'|does not support the .?effort.? parameter/i

/** The sentence for a depth of thinking that the model does not have. */
export function unknownEffort(text: string): string | undefined {
  const found = EFFORT.exec(text)
  if (found === null) return undefined
  const level = EFFORTS.find((effort) => effort === (found[1] ?? found[2]))
  if (level === undefined) return 'This model does not support the effort parameter.'
  const [, listed = ''] = text.split(/supported (?:levels|values)/i)
  const levels = EFFORTS.filter((effort) => new RegExp(`\\b${effort}\\b`).test(listed))
  const supported = levels.length === 0 ? '' : ` Supported levels: ${levels.join(', ')}.`
  return `This model does not support effort level '${level}'.${supported}`
}

/** Anthropic; OpenAI; vLLM. */
const OUTPUT_LIMITS = [
  /max_tokens: # > #, which is the maximum allowed number of output tokens/,
  /tokens is too large: #\D{1,60}at most # (?:completion|output) tokens/,
].map(withNumbers)

/**
 * The sentence for an output limit that the model does not reach, with the limit asked for and the model's; agents
 * ask again with less. `field` is the client's name for it.
 */
export function outputLimit(text: string, field: string): string | undefined {
  for (const wording of OUTPUT_LIMITS) {
    const [, asked, limit] = wording.exec(text) ?? []
    if (asked === undefined) continue
    return `${field}: ${asked} > ${limit}, which is the maximum allowed number of output tokens for this model.`
  }
  return undefined
}
