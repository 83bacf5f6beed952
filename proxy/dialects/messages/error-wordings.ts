/** Errors of Anthropic, and of other upstreams with the messages API. */
import type { Wordings } from '../core/errors/wordings.ts'
import { THREAD_WORDS, threadRefusal } from './threads.ts'

export const messagesWordings: Wordings = {
  words: {
    quota: ['billing_error'],
    credential: ['authentication_error'],
    rate: ['rate_limit_error'],
    tooLarge: ['request_too_large'],
    conversation: THREAD_WORDS,
  },
  statuses: [
    [403, ['permission_error']],
    [404, ['not_found_error']],
    [409, ['conflict_error']],
    [500, ['api_error']],
    [504, ['timeout_error']],
    [529, ['overloaded_error']],
    [400, ['invalid_request_error']],
  ],
  // Anthropic reports refused credentials and empty accounts as invalid requests.
  sentences: { quota: /credit balance is too low/i, credential: /organization has been disabled/i },
  contextLength: [
    /input length and `?max_tokens`? exceed context limit: (?<used>N) \+ (?<output>N) > (?<limit>N)/,
    /prompt is too long: (?<used>N) tokens > (?<limit>N) maximum/,
  ],
  // Bedrock, Anthropic
  contextLengthAlone: /input is too long|prompt is too long/i,
  carriers: [
    {
      wordings: [
        /invalid .?(?:signature|data).? in .?(?:redacted_)?thinking.? block/i,
        /thinking.? blocks.{0,60}(?:cannot be modified|must remain as they were)/i,
        /thinking\.signature: /i,
      ],
      sentence:
        'The upstream refused the reasoning of an earlier answer: invalid `signature` in `thinking` block.',
    },
  ],
  refusals: [
    {
      wording: /image exceeds # MB maximum: # bytes > # bytes/,
      sentence: (limit, bytes, most) => `image exceeds ${limit} MB maximum: ${bytes} bytes > ${most} bytes.`,
    },
    {
      wording: /image dimensions exceed max allowed size(?: for many-image requests)?: # pixels/,
      sentence: (pixels) => `image dimensions exceed max allowed size: ${pixels} pixels.`,
    },
    {
      wording: /maximum of # PDF pages/,
      sentence: (pages) => `A maximum of ${pages} PDF pages may be provided.`,
    },
    { wording: /PDF specified was not valid/, sentence: () => 'The PDF specified was not valid.' },
    {
      wording: /PDF specified is password protected/,
      sentence: () => 'The PDF specified is password protected.',
    },
    {
      wording: /.?tool_use.? ids were found without .?tool_result.? blocks immediately after/,
      sentence: () => '`tool_use` ids were found without `tool_result` blocks immediately after.',
    },
    {
      wording: /unexpected .?tool_use_id.? found in .?tool_result.? blocks/,
      sentence: () => 'unexpected `tool_use_id` found in `tool_result` blocks.',
    },
    { wording: /.?tool_use.? ids must be unique/, sentence: () => '`tool_use` ids must be unique.' },
    {
      wording: /does not support assistant message prefill/,
      sentence: () =>
        'This model does not support assistant message prefill. The conversation must end with a user message.',
    },
  ],
  // The second is for a model without levels.
  efforts: [/effort level '(\w{3,7})'/i, /does not support the .?effort.? parameter/i],
  outputLimits: [/max_tokens: # > #, which is the maximum allowed number of output tokens/],
  explain: threadRefusal,
}
