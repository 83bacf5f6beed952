/**
 * Recordings of real upstreams through every pair of dialects: a strict client must read the content of the recording. The
 * variable RECORDINGS names the folder; all of its files are used.
 */
import { describe, expect, it } from 'vitest'
import { readError } from '../../../proxy/dialects/core/errors/read.ts'
import { isRecord } from '../../../proxy/dialects/core/json/value.ts'
import { GatewayError } from '../../../proxy/errors.ts'
import { type Feature, recordCell, resultOf } from '../../harness/matrix.ts'
import { CHUNKINGS } from '../../harness/sse.ts'
import {
  convert,
  type DialectName,
  decodeRequest,
  decodeStream,
  minimalRequest,
  NAMES,
  parse,
} from './codecs.ts'
import { type Recording, recordings } from './fixtures.ts'
import {
  answerSays,
  bytesPass,
  comparable,
  completenessOfAnswer,
  completenessOfRequest,
  completenessOfStream,
  expectedUsage,
  isErrorBody,
  isNotFinished,
  isWellFormed,
  passed,
  readBack,
  streamSays,
  transmit,
  usageAgrees,
} from './laws.ts'
import { silent } from './leaves.ts'
import { sumStream } from './loose.ts'
import { misnamed } from './losses.ts'
import { type View, viewOf } from './views.ts'

const ALL = recordings()
const GOOD = ALL.filter(({ status }) => status === 200)
const STREAMS = GOOD.filter((one) => one.stream && one.file.endsWith('.sse'))
const WHOLE = STREAMS.filter((one) => sumStream(one.dialect, one.text).end === 'complete')
const BROKEN = STREAMS.filter((one) => sumStream(one.dialect, one.text).end !== 'complete')
const PLAIN = GOOD.filter((one) => one.file.endsWith('.json'))
  .map((one) => ({ ...one, answer: JSON.parse(one.text) as Record<string, unknown> }))
  .filter((one) => !isErrorBody(one.answer))
const ERRORS = ALL.filter(({ status }) => status >= 400)
const REQUESTS = ALL.flatMap((one) => (one.request === undefined ? [] : [{ ...one, request: one.request }]))

const named = <T extends Recording>(all: readonly T[]) => all.map((one) => [one.file, one] as const)

/** Tests of one kind of recording, if the folder has any. */
function each<T extends Recording>(all: readonly T[], run: (one: T) => void): void {
  if (all.length > 0) it.each(named(all))('%s', (_file, one) => run(one))
}

it(
  process.env.RECORDINGS ? `${ALL.length} recordings are at hand` : 'RECORDINGS is not set: none is run',
  () => {
    expect(ALL.length > 0).toBe(Boolean(process.env.RECORDINGS))
  },
)

/** Notes which features the recording covers for the pair. */
function record(
  client: DialectName,
  upstream: DialectName,
  features: readonly Feature[],
  losses: readonly string[] = [],
): void {
  for (const feature of features) {
    const result = client === upstream ? { result: 'byte' as const } : resultOf(feature, losses)
    recordCell({ client, upstream, feature, by: 'recording', ...result })
  }
}

function featuresOf(view: View, kind: 'stream' | 'JSON'): Feature[] {
  return [
    kind,
    ...(view.calls.length > 0 ? (['tools'] as const) : []),
    ...(view.calls.length > 1 ? (['parallel tools'] as const) : []),
    ...(view.reasoning === '' ? [] : (['reasoning'] as const)),
    ...(view.usage === undefined ? [] : (['usage'] as const)),
  ]
}

describe.runIf(WHOLE.length > 0).each(NAMES)('streams for clients of %s', (client) => {
  each(WHOLE, ({ dialect, text }) => {
    const expected = streamSays(client, dialect, text)
    let losses: string[] = []
    for (const [, cut] of CHUNKINGS) {
      const transmitted = transmit(client, dialect, cut(Buffer.from(text)))
      expect(transmitted.finished).toBe(true)
      const read = viewOf(client, readBack(client, dialect, transmitted.text, expectedUsage(expected)))
      expect(comparable(read, expected)).toEqual(expected)
      losses = transmitted.losses
    }
    record(client, dialect, featuresOf(expected, 'stream'), losses)
  })
})

describe.runIf(STREAMS.length > 0).each(NAMES)('broken streams for clients of %s', (client) => {
  each(BROKEN, ({ dialect, text }) => {
    const { failed } = isNotFinished(client, dialect, text)
    const { end } = sumStream(dialect, text)
    if (end === 'error') expect(failed).toBe(true)
    record(client, dialect, [end === 'error' ? 'upstream error' : 'cut stream'])
  })

  describe('cut in the middle', () => {
    each(WHOLE, ({ dialect, text }) => {
      const events = text.split(/(?<=\r?\n\r?\n)/)
      const half = events.slice(0, Math.floor(events.length / 2)).join('')
      if (sumStream(dialect, half).end !== 'cut') return
      expect(isNotFinished(client, dialect, half).failed).toBe(false)
      record(client, dialect, ['cut stream'])
    })
  })
})

describe.runIf(PLAIN.length > 0).each(NAMES)('answers for clients of %s', (client) => {
  each(PLAIN, ({ dialect, answer }) => {
    const { view, losses } = answerSays(client, dialect, answer)
    record(client, dialect, featuresOf(view, 'JSON'), losses)
  })
})

describe.runIf(GOOD.length > 0)('completeness', () => {
  each(WHOLE, ({ dialect, text }) => {
    isWellFormed(decodeStream(dialect, text).parts)
    completenessOfStream(dialect, text)
  })
  each(PLAIN, ({ dialect, answer }) => completenessOfAnswer(dialect, answer))
})

describe.runIf(WHOLE.length > 0)('byte lane', () => {
  each(WHOLE, ({ dialect, text }) => {
    const whole = passed(dialect, [Buffer.from(text)])
    // Some recordings continue after the end of the answer.
    expect(text.startsWith(whole.trimEnd())).toBe(true)
    expect(sumStream(dialect, whole)).toEqual(sumStream(dialect, text))
    for (const [, cut] of CHUNKINGS) bytesPass(dialect, cut(Buffer.from(text)), whole)
    usageAgrees(dialect, text)
  })
})

describe.runIf(ERRORS.length > 0)('errors', () => {
  each(ERRORS, ({ dialect, status, text, request }) => {
    for (const client of NAMES) {
      const clientRequest = client === dialect && request !== undefined ? request : minimalRequest(client)
      const failure = readError(status, {}, Buffer.from(text), parse(client, clientRequest))
      expect(failure.status).toBe(status)
      // The client does not get the upstream's sentence; the gateway's may have its numbers.
      const sentence = failure.forCaller?.message ?? ''
      expect(sentence === '' || sentence !== upstreamMessage(text)).toBe(true)
      record(client, dialect, ['upstream error'])
    }
  })
})

function upstreamMessage(text: string): string {
  const body: unknown = JSON.parse(text)
  const error = isRecord(body) && isRecord(body.error) ? body.error : body
  return isRecord(error) && typeof error.message === 'string' ? error.message : ''
}

describe.runIf(REQUESTS.length > 0)('requests', () => {
  describe('completeness', () => {
    each(legal(REQUESTS), ({ dialect, request }) => completenessOfRequest(dialect, request))
  })

  describe.each(NAMES)('to %s', (upstream) => {
    each(
      legal(REQUESTS).filter(({ dialect }) => dialect !== upstream),
      ({ dialect, request }) => {
        const converted = orRefusal(() => convert(dialect, request, upstream))
        if (converted === undefined) return
        expect(silent(request, converted.body, converted.losses)).toEqual([])
        expect(misnamed(request, converted.losses)).toEqual([])
        for (const feature of requestedFeatures(request)) {
          recordCell({
            client: dialect,
            upstream,
            feature,
            by: 'recording',
            ...resultOf(feature, converted.losses),
          })
        }
      },
    )
  })
})

/** Requests that the gateway accepts: some recordings have another dialect. */
function legal<T extends { dialect: DialectName; request: Record<string, unknown> }>(all: readonly T[]): T[] {
  return all.filter(({ dialect, request }) => orRefusal(() => decodeRequest(dialect, request)) !== undefined)
}

/** Undefined for a request that is refused with the name of a field. Other errors are thrown. */
function orRefusal<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    expect(error.param).toEqual(expect.any(String))
    return undefined
  }
}

/** Features that a request uses. */
function requestedFeatures(request: Record<string, unknown>): Feature[] {
  const text = JSON.stringify(request)
  const shows: [Feature, RegExp][] = [
    ['image', /"type":"(image_url|input_image|image)"/],
    ['PDF', /application\/pdf/],
    ['structured output', /"type":"json_schema"/],
    ['stop', /"stop(_sequences)?":\[/],
  ]
  return shows.flatMap(([feature, pattern]) => (pattern.test(text) ? [feature] : []))
}
