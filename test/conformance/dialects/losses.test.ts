/** Every field of a request makes a difference for the upstream or is a loss. */
import { describe, expect, it } from 'vitest'
import type { Features } from '../../../contract/features.ts'
import { convert, type DialectName, minimalRequest, PAIRS } from './codecs.ts'
import { REQUESTS } from './fixtures.ts'
import { has, misnamed, silentChanges } from './losses.ts'
import { ROWS } from './rows.ts'

const bodiesOf = (client: DialectName) => [
  ...REQUESTS.filter(({ dialect }) => dialect === client).map(
    ({ name, content }) => [name, content] as const,
  ),
  ...ROWS[client].map(
    ({ field, note, body }) => [[field, note ?? ''].join(' ').trim(), minimalRequest(client, body)] as const,
  ),
]

/** Upstreams with different features. */
const UPSTREAMS: [string, Partial<Features>][] = [
  ['can do all', {}],
  [
    'can do little',
    {
      maxCompletionTokens: false,
      sampling: false,
      reasoning: 'None',
      reasoningHistory: 'None',
      structuredOutput: false,
      customTools: false,
      webSearch: false,
      systemTurns: false,
      prefill: false,
      cacheMarks: false,
      speed: false,
    },
  ],
  ['thinks by a budget', { reasoning: 'Budget', efforts: ['low', 'high'] }],
]

describe.each(UPSTREAMS)('an upstream that %s', (_what, features) => {
  describe.each(PAIRS)('a client of %s over %s', (client, upstream) => {
    it.each(bodiesOf(client))('%s', (_name, body) => {
      const silent = silentChanges(client, body, upstream, features)
      expect(silent.filter((change) => !hasNoEffect(change))).toEqual([])
    })
  })
})

/** Changes without an effect: defaults, repetitions of other fields, and fields that the gateway sets itself. */
function hasNoEffect({ path, value }: { path: string; value: unknown }): boolean {
  const json = JSON.stringify(value)
  if (['null', '""', '[]', '{}'].includes(json)) return true
  return SAME_WHEN_ABSENT.some((pattern) => pattern.test(`${path}: ${json}`))
}

const SAME_WHEN_ABSENT = [
  // Defaults.
  /^(?:n: 1|(?:stream|store|background): false|parallel_tool_calls: true|tool_choice: "auto"|truncation: "disabled")$/,
  /^(?:messages\.content\.is_error|tools\.strict|tools\.tools\.strict|stream_options\.include_obfuscation): false$/,
  /^(?:modalities: \["text"\]|response_format: \{"type":"text"\}|text\.format: \{"type":"text"\})$/,
  /^text: \{"format":\{"type":"text"\}/,
  /^(?:reasoning_effort: "default"|reasoning\.exclude: false)$/,
  // Without reasoning, there is nothing to hide or to turn off.
  /^(?:reasoning_effort: "none"|reasoning\.enabled: false|reasoning\.exclude: true|reasoning: \{"enabled":false\}|thinking: \{"type":"disabled"\})$/,
  // The model decides how much to think, and its reasoning is shown.
  /^thinking: \{"type":"adaptive"/,
  /^(?:thinking\.display: "summarized"|reasoning\.summary: "auto")$/,
  // An open schema accepts all values of a closed one.
  /^(?:response_format\.json_schema|text\.format)\.schema\.additionalProperties: false$/,
  // By default, the parameters of a function are an object.
  /^(?:tools|tools\.tools|tools\.function)\.parameters: \{"type":"object"(?:,"properties":\{\})?\}$/,
  // Words that differ between dialects, or that one dialect lacks.
  /(?:^|\.)type: /,
  /^tools\.name: "web_search"$/,
  /\.prompt_cache_breakpoint\.mode: "explicit"$/,
  /^input\.execution: "client"$/,
  // The call has the name of its result.
  /^messages\.name: "get_weather"$/,
  // The gateway itself sets the model, reports usage and cuts at stop sequences.
  /^(?:model|stop|stop_sequences|stream_options|stream_options\.include_usage): /,
  // Dialects differ in encrypted reasoning; probabilities have another field.
  /^include: \["(?:reasoning\.encrypted_content|message\.output_text\.logprobs)"/,
  // Ids of items, and data about the client.
  /^input\.(?:id|status): /,
  /^client_metadata/,
  /^system\.text: "x-anthropic-billing-header/,
]

describe('paths', () => {
  it('are found in lists, and in keys with a dot', () => {
    const body = { a: [{ b: 1 }, { c: { d: null } }], 'e.f': { g: 2 } }
    for (const path of ['a', 'a.b', 'a.c.d', 'e.f.g']) expect(has(body, path)).toBe(true)
    for (const path of ['b', 'a.d', 'a.b.c', 'e', 'e.g']) expect(has(body, path)).toBe(false)
    expect(misnamed(body, ['a.b', 'a.x'])).toEqual(['a.x'])
  })
})

describe('errors name a field of the body', () => {
  it.each(PAIRS)('of a client of %s over %s', (client, upstream) => {
    for (const [, body] of bodiesOf(client)) {
      const param = refusedParam(() => convert(client, body, upstream))
      if (param !== undefined) expect(has(body, param.replaceAll(/\[\d+\]/g, '')), param).toBe(true)
    }
  })
})

function refusedParam(run: () => unknown): string | undefined {
  try {
    run()
  } catch (error) {
    return String((error as { param?: string }).param)
  }
  return undefined
}
