/**
 * Masks credentials, addresses and ids in an upstream's own words before a client reads them. Masks doubtful words too: a
 * missing word does less harm than a leaked secret.
 */
import { identifies, locates } from './suspects.ts'

/** Known names and secrets of the upstream and the request. */
interface Known {
  /** In every encoding. */
  secrets: readonly string[]
  /** Name of the upstream's host. */
  host: string
  upstreamModel: string
  /** Replaces the upstream's model. */
  clientModel: string
}

const MAX_READ = 2_000
/** Searched for secrets of the channel, which may be long. */
const MAX_SEARCHED = 16_384
const MAX_SHOWN = 500
/** Masking shorter ones would break ordinary words. */
const MIN_SECRET = 4

/** Placeholders, so that later steps skip replaced text. Private-use characters of the original text are removed first. */
const MASKED = '\ue001'
const MODEL = '\ue000'
const UNSHOWN = /[\p{Cf}\p{Co}\p{Cs}]/gu
const BLANK = /[\s\p{Cc}\p{Z}]+/gu

/** Undefined when no word is left. */
export function sanitised(words: string, known: Known): string | undefined {
  const searched = cut(words, MAX_SEARCHED).replace(UNSHOWN, '')
  const masked = withoutSecrets(searched, known.secrets).replace(BLANK, ' ')
  let text = named(cut(masked, MAX_READ), known)
  text = text.replace(IDS, maskedId).replace(CREDENTIALS, maskedCredential)
  text = text.split(' ').map(maskedRun).join(' ').trim()
  if (!/\p{L}{2}/u.test(text.replaceAll(MODEL, ''))) return undefined
  const shown = text.replaceAll(MASKED, '***').replaceAll(MODEL, () => known.clientModel)
  const points = [...shown]
  return points.length <= MAX_SHOWN ? shown : `${points.slice(0, MAX_SHOWN - 1).join('')}…`
}

/** The beginning, without a word cut in half: half a secret would not be recognised. */
function cut(text: string, length: number): string {
  if (text.length <= length) return text
  const head = text.slice(0, length)
  return head.slice(0, Math.max(0, head.search(/\s\S*$/)))
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  let masked = text
  // Longest first: masking a secret inside another one would leave the rest of that one.
  for (const secret of secrets.toSorted((a, b) => b.length - a.length))
    if (secret.length >= MIN_SECRET) masked = masked.replace(literal(secret), MASKED)
  return masked
}

/** Replaces the upstream's model, with a date or size that the upstream appends, and masks its host. */
function named(text: string, { upstreamModel, host }: Known): string {
  let result = text
  const last = upstreamModel.slice(upstreamModel.lastIndexOf('/') + 1)
  for (const name of new Set([upstreamModel, last.length >= MIN_SECRET ? last : upstreamModel])) {
    if (name !== '') result = result.replace(bounded(name, '(?:[-:@][\\w.:-]{0,64}\\w)?'), MODEL)
  }
  return host === '' ? result : result.replace(bounded(host, ''), MASKED)
}

function literal(text: string): RegExp {
  return new RegExp(escaped(text), 'gi')
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

function bounded(text: string, more: string): RegExp {
  return new RegExp(`(?<![\\w-])${escaped(text)}${more}(?![\\w-])`, 'gi')
}

/** A noun for an owner of an id, the words or signs that introduce the id, and the possible id. */
const IDS =
  /\b((?:organi[sz]ation|org|project|account|acct|request|req|workspace|tenant|subscription|deployment|customer|team|user|trace|correlation|session|resource)s?)([ _-]?(?:id|ids|name|number|no|nr)\b)?(["'`]?(?: ?[:=#] ?| is | named | )["'`([]{0,2})([A-Za-z0-9][\w.-]{0,127})/gi
/** Nouns of everyday use: they need an explicit "id" behind them. */
const COMMON = /^(?:request|req|user|session|resource|trace|correlation|deployment|team|customer)s?$/i

function maskedId(whole: string, noun: string, id: string | undefined, sign: string, value: string): string {
  if (PLAIN.has(value.toLowerCase())) return whole
  const named = id !== undefined || (!COMMON.test(noun) && /[:=#"'`([]/.test(sign))
  const looks = /\d|[-_]/.test(value) && !COMMON.test(noun)
  return named || looks ? `${noun}${id ?? ''}${sign}${MASKED}` : whole
}

const CREDENTIALS =
  /\b(api[ _-]?keys?|(?:access|auth|bearer|refresh|session)[ _-]?tokens?|token|secret(?:[ _-]?keys?)?|password|passwd|pwd|credentials?|authorization|x-api-key|bearer|basic)(["'`]?(?: provided)?(?: ?[:=] ?| is | was | )["'`([]{0,2}(?:(?:bearer|basic) )?)([^\s"'`,;)\]]{3,256})/gi

function maskedCredential(whole: string, noun: string, sign: string, value: string): string {
  if (PLAIN.has(value.replace(/[.:!?]$/, '').toLowerCase())) return whole
  const isLabelled = /[:=]/.test(sign) || /^bearer$/i.test(noun)
  const looks = (/\d/.test(value) && /[a-z]/i.test(value)) || /[_+=*]|[a-z][A-Z]/.test(value)
  return isLabelled || looks ? `${noun}${sign}${MASKED}` : whole
}

/** Ordinary words that follow such a noun in a sentence. */
const PLAIN = new Set(
  (
    'a an and are as at auth authentication be by can cannot could does extra field fields for from has have header ' +
    'id in input inputs invalid is it limit limits may missing must no not of on or optional parameter required should ' +
    'than that the this to too type unsupported value values was were when which will with your'
  ).split(' '),
)

/** Masks a run without spaces: all of a URL, only the suspect tokens of anything else. */
function maskedRun(run: string): string {
  const isQuery = run.includes('?') && run.includes('=') && /[/.]/.test(run)
  if (run.includes('://') || isQuery || /^\W{0,8}www\./i.test(run)) {
    return `${MASKED}${/[.,:;!?)\]}"'`]{0,4}$/.exec(run)?.[0] ?? ''}`
  }
  return run
    .split(/([^\x21-\x7e\ue000\ue001]+|["'`<>()[\]{},;|]+)/)
    .map((token, i) => (i % 2 === 1 ? token : maskedToken(token)))
    .join('')
}

function maskedToken(token: string): string {
  const [, before = '', word = '', after = ''] = /^([.:!?=-]{0,8})(.*?)([.:!?=-]{0,8})$/.exec(token) ?? []
  const bare = word.replaceAll(MASKED, '').replaceAll(MODEL, '')
  if (bare === '') return token
  if (!word.includes(MASKED) && !locates(bare) && !locates(token) && !identifies(bare)) return token
  return `${before}${MASKED}${after}`
}
