/** Errors of OpenAI, and of the vendors and servers that speak its dialects. */
import type { Wordings } from '../core/errors/wordings.ts'

export const openaiWordings: Wordings = {
  words: {
    quota: [
      'insufficient_quota',
      'credit_balance_exhausted',
      'organization_spend_limit_exceeded',
      'project_spend_limit_exceeded',
      'organization_usage_limit_exceeded',
      'enforced_spend_limit_reached',
      'contract_spend_limit_reached',
      'billing_hard_limit_reached',
      'billing_not_active',
      'insufficient_balance',
      'usage_not_included',
    ],
    credential: ['invalid_api_key', 'api_key_invalid'],
    region: ['unsupported_country_region_territory', 'data_residency_mismatch'],
    modelGone: ['model_not_found'],
    rate: ['rate_limit_exceeded', 'slow_down'],
    filter: [
      'content_filter',
      'content_policy_violation',
      'moderation_blocked',
      'image_content_policy_violation',
      'bio_policy',
      'cyber_policy_violation',
      'misalignment_policy_violation',
    ],
    contextLength: ['context_length_exceeded', 'exceed_context_size_error'],
    unsupported: ['unsupported_parameter', 'unsupported_value', 'unknown_parameter'],
  },
  statuses: [
    [408, ['timeout']],
    [500, ['server_error', 'internal_server_error']],
    [501, ['not_supported']],
    [503, ['server_is_overloaded', 'service_unavailable_error']],
    [504, ['vector_store_timeout']],
    [
      400,
      [
        'invalid_request_error',
        'invalid_prompt',
        'invalid_value',
        'invalid_type',
        'invalid_image',
        'invalid_image_format',
        'invalid_image_mode',
        'invalid_image_url',
        'invalid_base64_image',
        'image_too_large',
        'image_too_small',
        'image_parse_error',
        'image_file_too_large',
        'image_file_not_found',
        'unsupported_image_media_type',
        'empty_image_file',
        'failed_to_download_image',
      ],
    ],
  ],
  contextLength: [
    // OpenAI, vLLM, DeepSeek, OpenRouter
    /maximum context length is (?<limit>N) tokens\D{1,60}N tokens \((?<used>N) (?:in the messages|of text input|in your prompt)[,;] (?<output>N) (?:in|for) the (?:completion|output)/,
    /too large: (?<requested>N)\.\D{1,60}context length is (?<limit>N) tokens\D{1,60}(?<used>N) input tokens/,
    /maximum context length is (?<limit>N) tokens\D{1,60}(?<used>N) (?:input )?tokens/,
    /exceed the configured limit of (?<limit>N) tokens\D{1,60}(?<used>N) tokens/,
    // vLLM
    /passed (?<used>N) input tokens and requested (?<requested>N) output tokens.{1,80}context length is only (?<limit>N) tokens/,
    /passed (?<used>N) input tokens.{1,80}context length is only (?<limit>N) tokens/,
    // llama.cpp, LM Studio
    /keep the first (?<used>N) tokens when.{1,80}context length of only (?<limit>N) tokens/,
    /request \((?<used>N) tokens\) exceeds the available context size \((?<limit>N) tokens\)/,
    // Gemini, xAI, Mistral
    /input token count \(?(?<used>N)\)? exceeds the maximum number of tokens allowed \(?(?<limit>N)/,
    /maximum prompt length is (?<limit>N) but the request contains (?<used>N) tokens/,
    /Prompt contains (?<used>N) tokens.{1,60}with (?<limit>N) maximum context length/,
  ],
  // llama.cpp, OpenAI's responses
  contextLengthAlone: /exceeds the available context size|exceeds the context window/i,
  carriers: [
    {
      // Gemini
      wordings: [/thought.?signature is (?:not valid|invalid)|(?:invalid|corrupted) thought.?signature/i],
      sentence:
        'The upstream refused the reasoning of an earlier answer: invalid `signature` in `thinking` block.',
    },
  ],
  refusals: [
    {
      wording: /assistant message with .?tool_calls.? must be followed by tool messages/,
      sentence: () =>
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    },
    {
      wording: /No tool output found for (?:function|custom tool) call/,
      sentence: () => 'No tool output found for a tool call of the input.',
    },
  ],
  efforts: [/effort' does not support '(\w{3,7})'/i],
  // OpenAI, vLLM
  outputLimits: [/tokens is too large: #\D{1,60}at most # (?:completion|output) tokens/],
}
