/** Every law on every fixture, between all pairs of dialects. */
import { describe, expect, it } from 'vitest'
import { chunked } from '../../harness/sse.ts'
import {
  convert,
  decodeAnswer,
  decodeRequest,
  decodeStream,
  dialectOf,
  folded,
  isFailure,
  minimalRequest,
  NAMES,
  parse,
} from './codecs.ts'
import { ANSWERS, endOf, REQUESTS, STREAMS } from './fixtures.ts'
import {
  answerSays,
  bytesPass,
  completenessOfAnswer,
  completenessOfRequest,
  completenessOfStream,
  contentOf,
  isErrorBody,
  isNotFinished,
  isWellFormed,
  streamSays,
  usageAgrees,
} from './laws.ts'
import { silent } from './leaves.ts'
import { sumStream } from './loose.ts'
import { misnamed } from './losses.ts'
import { allowedLosses, exactFields, REFUSALS } from './rows.ts'
import { viewOf } from './views.ts'

const named = <T extends { dialect: string; name: string }>(all: readonly T[]) =>
  all.map((one) => [`${one.dialect} ${one.name}`, one] as const)

const GOOD_ANSWERS = ANSWERS.filter((answer) => !isErrorBody(answer.content))
const BAD_ANSWERS = ANSWERS.filter((answer) => isErrorBody(answer.content))
const WHOLE_STREAMS = STREAMS.filter((stream) => endOf(stream.name) === 'complete')
const BROKEN_STREAMS = STREAMS.filter((stream) => endOf(stream.name) !== 'complete')

describe('completeness', () => {
  it.each(named(REQUESTS))('request: %s', (_name, { dialect, content }) => {
    completenessOfRequest(dialect, content)
  })
  it.each(named(GOOD_ANSWERS))('answer: %s', (_name, { dialect, content }) => {
    completenessOfAnswer(dialect, content)
  })
  it.each(named(WHOLE_STREAMS))('stream: %s', (_name, { dialect, content }) => {
    completenessOfStream(dialect, content)
  })
})

describe('fold', () => {
  it.each(named(WHOLE_STREAMS))('parts keep their order: %s', (_name, { dialect, content }) =>
    isWellFormed(decodeStream(dialect, content).parts),
  )

  const pairs = named(WHOLE_STREAMS).flatMap(([name, stream]) => {
    const answer = ANSWERS.find((one) => one.dialect === stream.dialect && one.name === stream.name)
    return answer === undefined ? [] : [[name, stream, answer] as const]
  })
  it.each(pairs)('the stream sums to the plain answer: %s', (_name, stream, answer) => {
    const { dialect } = stream
    // The fixtures themselves have the same content.
    expect(viewOf(dialect, sumStream(dialect, stream.content).answer)).toEqual(
      viewOf(dialect, answer.content),
    )
    const summed = folded(decodeStream(dialect, stream.content).parts)
    expect(contentOf(summed)).toEqual(contentOf(decodeAnswer(dialect, answer.content)))
  })
})

describe.each(NAMES)('clients of %s read', (client) => {
  it.each(named(WHOLE_STREAMS))('the stream of %s', (_name, { dialect, content }) => {
    streamSays(client, dialect, content)
  })
  it.each(named(GOOD_ANSWERS))('the answer of %s', (_name, { dialect, content }) => {
    answerSays(client, dialect, content)
  })
  it.each(named(BROKEN_STREAMS))('no finished answer in %s', (_name, { dialect, name, content }) => {
    const { failed } = isNotFinished(client, dialect, content)
    if (endOf(name) === 'error') expect(failed).toBe(true)
  })
})

describe('errors', () => {
  it.each(named(BAD_ANSWERS))('under 200 are failures: %s', (_name, { dialect, content }) => {
    const read = dialectOf(dialect).codec.decodeAnswer(content, parse(dialect, minimalRequest(dialect)))
    expect(isFailure(read)).toBe(true)
    expect(JSON.stringify(read)).not.toContain('secret-host')
  })
})

describe.each(NAMES)('no silent loss towards %s', (upstream) => {
  it.each(named(REQUESTS.filter(({ dialect }) => dialect !== upstream)))('%s', (_name, fixture) => {
    const { dialect, name, content } = fixture
    const param = REFUSALS[dialect][name]?.[upstream]
    if (param !== undefined) {
      const refusal = { name: 'GatewayError', param: expect.stringMatching(startingWith(param)) }
      expect(() => convert(dialect, content, upstream)).toThrow(expect.objectContaining(refusal))
      return
    }
    const { body, losses } = convert(dialect, content, upstream)
    // The output is a valid request of its dialect.
    decodeRequest(upstream, body)
    const unsaid = silent(content, body, losses).filter((leaf) => !isDoneByGateway(leaf, upstream))
    expect(unsaid).toEqual([])
    expect(misnamed(content, losses)).toEqual([])
    // A field that a row calls exact is never a loss.
    const exact = exactFields(dialect, upstream)
    expect(losses.filter((loss) => exact.has(loss))).toEqual([])
    const unforeseen = losses.filter((loss) => !allowedLosses(dialect, upstream).has(loss))
    expect(unforeseen).toEqual(unforeseen.filter((loss) => OWN_FIELDS.includes(loss)))
  })
})

/** A field, or a field in it. */
const startingWith = (param: string) => new RegExp(`^${param.replace(/[[\]]/g, '\\$&')}(?:$|[.[])`)

/** Responses has no stop sequences: the gateway itself cuts the answer. */
const isDoneByGateway = (leaf: string, upstream: string) =>
  upstream === 'responses' && /^stop(_sequences)?: /.test(leaf)

/** Fields of one dialect only, beyond those in the rows. */
const OWN_FIELDS = [
  'brand_new',
  'input.content.sparkle',
  'input.mood',
  'messages.content.context',
  'messages.content.sparkle',
  'messages.mood',
  'modalities',
  'moderation',
  'prediction',
  'reasoning.context',
  'reasoning.depth',
  'reasoning.mode',
  'stream_options',
  'tools.defer_loading',
  'tools.external_web_access',
  'tools.extra',
  'tools.function.lazy',
  'tools.max_uses',
  'web_search_options.search_context_size',
]

describe('bytes', () => {
  it.each(named(STREAMS))('pass at every split point: %s', (_name, { dialect, name, content }) => {
    const bytes = Buffer.from(content)
    const expected = passing(name, content)
    bytesPass(dialect, [bytes], expected)
    bytesPass(dialect, chunked(bytes, 1), expected)
    bytesPass(dialect, chunked(bytes, 7), expected)
    for (let at = 1; at < bytes.length; at++) {
      bytesPass(dialect, [bytes.subarray(0, at), bytes.subarray(at)], expected)
    }
  })
})

/** The part of a stream that reaches the client: whole events up to an error or the end, and the end that chat requires. */
function passing(name: string, content: string): string {
  if (endOf(name) === 'error')
    return content.split(/(?:event: \S+\n)?data: \{(?:"error"|"type":"(?:error|response.failed)")/)[0] ?? ''
  if (name === 'cut-in-event') return content.slice(0, content.lastIndexOf('\n\n') + 2)
  if (name === 'no-done') return `${content}data: [DONE]\n\n`
  if (name === 'trailing-done') return content.replace('data: [DONE]\n\n', '')
  return name === 'after-done' ? content.slice(0, content.indexOf('[DONE]') + 6) : content
}

describe('usage', () => {
  it.each(named(WHOLE_STREAMS))('%s', (_name, { dialect, content }) => usageAgrees(dialect, content))
})
