/**
 * How vendors word their errors. Each dialect lists its vendors' wordings, and every error is checked against all of
 * them, because upstreams forward other vendors' errors.
 */
import type { GatewayError } from '../../../errors.ts'
import type { UpstreamError } from './upstream-error.ts'

/** Meanings of an upstream's code, type or sentence, with the status of such an error inside a 200. */
const STATUS_OF = {
  credential: 401,
  quota: 402,
  region: 403,
  modelGone: 404,
  tooLarge: 413,
  rate: 429,
  filter: 400,
  contextLength: 400,
  /** Opaque state that the upstream cannot read. */
  carrier: 400,
  unsupported: 400,
  /** The upstream does not have the response that the request continues. */
  previousResponse: 400,
  /** A conversation that the upstream stores cannot be used as requested; explain() gives the reason. */
  conversation: undefined,
} as const
type Meaning = keyof typeof STATUS_OF

/** A refusal that agents act on. `#` in its wording matches a number. */
interface Refusal {
  wording: RegExp
  /** The sentence for the client; gets the numbers in order. */
  sentence: (...numbers: string[]) => string
}

export interface Wordings {
  /** Codes and types in lower case. */
  words?: Partial<Record<Meaning, readonly string[]>>
  /** Codes and types that mean no more than a status. */
  statuses?: readonly (readonly [status: number, words: readonly string[]])[]
  /** Sentences without a code of their own. */
  sentences?: Partial<Record<'credential' | 'quota' | 'previousResponse', RegExp>>
  /** A prompt that is too long. `N` matches a number; for the named groups see context-length.ts. */
  contextLength?: readonly RegExp[]
  /** The same without numbers. */
  contextLengthAlone?: RegExp
  /** Refused opaque state, and the sentence for the client; `coded`: also for the codes of `carrier`. */
  carriers?: readonly { wordings: readonly RegExp[]; sentence: string; coded?: true }[]
  refusals?: readonly Refusal[]
  /** An effort level that the model lacks; the group is the level. */
  efforts?: readonly RegExp[]
  /** An output limit that is too large; `#` matches the requested limit, then the model's. */
  outputLimits?: readonly RegExp[]
  /** The client's error for a refusal that only this vendor knows. `param` is the field that the error names. */
  explain?(error: UpstreamError, param: string | undefined, status: number): GatewayError | undefined
}

/** The wordings of all vendors, ready for use. */
interface Known {
  meanings: ReadonlyMap<string, Meaning>
  statuses: ReadonlyMap<string, number>
  all: readonly Wordings[]
}

let registered: Known | undefined

/** Registers the wordings of all dialects. */
export function registerWordings(all: readonly Wordings[]): void {
  const groups = all.flatMap(({ words = {} }) => Object.entries(words) as [Meaning, readonly string[]][])
  const meanings = groups.flatMap(([meaning, words]) => words.map((word) => [word, meaning] as const))
  const plain = all.flatMap(({ statuses = [] }) =>
    statuses.flatMap(([status, words]) => words.map((word) => [word, status] as const)),
  )
  const meant = meanings.flatMap(([word, meaning]) => {
    const status = STATUS_OF[meaning]
    return status === undefined ? [] : [[word, status] as const]
  })
  registered = {
    meanings: new Map(meanings),
    statuses: new Map([...plain, ...meant]),
    all: all.map(prepared),
  }
}

/** Replaces `#` and `N` by patterns for numbers. */
function prepared(wordings: Wordings): Wordings {
  const { contextLength = [], refusals = [], outputLimits = [] } = wordings
  return {
    ...wordings,
    contextLength: contextLength.map(
      ({ source }) => new RegExp(source.replaceAll('N', '\\d[\\d,]{0,11}'), 'i'),
    ),
    refusals: refusals.map(({ wording, sentence }) => ({ wording: withNumbers(wording), sentence })),
    outputLimits: outputLimits.map(withNumbers),
  }
}

function withNumbers({ source }: RegExp): RegExp {
  return new RegExp(source.replaceAll('#', '(\\d{1,12})'), 'i')
}

/** Throws when no wordings are registered: without them every error would count as unknown. */
function known(): Known {
  if (registered === undefined) throw new Error('no wordings are registered: import proxy/dialects/index.ts')
  return registered
}

export const allWordings = (): readonly Wordings[] => known().all

/** True when a code or type of the error has this meaning. */
export function hasMeaning({ words }: UpstreamError, meaning: Meaning): boolean {
  const { meanings } = known()
  return words.some((word) => meanings.get(word) === meaning)
}

/** True when a code, a type or the message of the error has this meaning. */
export function describes(error: UpstreamError, meaning: keyof NonNullable<Wordings['sentences']>): boolean {
  return (
    hasMeaning(error, meaning) ||
    allWordings().some(({ sentences }) => sentences?.[meaning]?.test(error.text))
  )
}

/** The HTTP status that an error with this code or type would have outside a 200. */
export function statusOf(word: string): number | undefined {
  return known().statuses.get(word)
}
