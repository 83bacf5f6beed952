/** Recognises words that may be an address, a credential or an id. Words are ASCII without spaces, quotes and brackets. */

const PIECES = /[:=/&?#+~]/

/** True for an address: a URL, a host, an IP address, an e-mail address, a file path. */
export function locates(word: string): boolean {
  if (/[@\\]|%[0-9a-f]{2}/i.test(word)) return true
  if (/(?:^|[^\w-])(?:localhost\b|[a-z][a-z0-9-]{0,62}:\d{2,5}$|ip-\d{1,3}(?:-\d{1,3}){3})/i.test(word))
    return true
  // IPv6
  if (word.includes('::') || /(?:[0-9a-f]{1,4}:){3}/i.test(word)) return true
  // /home/someone/file; API paths are not secret.
  if (/(?:^|[=:])\/[^/]+\/./.test(word) && !/^\/(?:api\/)?v\d/.test(word)) return true
  return word.split(PIECES).some((piece) => /^\d{1,3}(?:\.\d{1,3}){3}$/.test(piece) || isHost(piece))
}

/** Request fields that a field path may begin with. */
const FIELDS = new Set(
  (
    'audio body container content contents context_management file format function functions generation_config ' +
    'generationconfig image image_url include input instructions item items json_schema logit_bias mcp_servers ' +
    'message messages metadata modalities output_config parameters params prediction prompt properties reasoning ' +
    'response_format schema source stop stream_options system text thinking tool tool_choice tools ' +
    'web_search_options'
  ).split(' '),
)
/** Endings of host names, which may also end a field path. */
const SUFFIXES = new Set(
  (
    'ai app arpa au biz br ca ch cloud cluster cn co com corp de dev edu es eu example fr gg gov home host in info ' +
    'internal intern intra invalid io it jp kr lan local localhost me mil net nl online org private ru se sg sh site ' +
    'svc tech test tv uk us xyz'
  ).split(' '),
)
/** Endings of file names that do not end host names. */
const FILES = /^(?:png|jpe?g|gif|webp|pdf|json|jsonl|txt|csv|wav|mp3|mp4|docx?|xlsx?|pptx?|xml|html?|ya?ml)$/i

/** Two or more labels, the last of letters only, that are neither a field path nor a file name. */
function isHost(piece: string): boolean {
  const labels = piece.split('.').filter((label) => label !== '')
  const last = labels.at(-1) ?? ''
  if (labels.length < 2 || !labels.every((label) => /^[\w-]+$/.test(label))) return false
  if (!/^(?:[a-z]{2,63}|xn--[a-z0-9-]+)$/i.test(last) || FILES.test(last)) return false
  if (SUFFIXES.has(last.toLowerCase())) return true
  if (FIELDS.has(labels[0]?.toLowerCase() ?? '')) return false
  // "supported.Please", "litellm.BadRequestError": two words, not two labels.
  return !(labels.length === 2 && /^[A-Z][a-z]+(?:[A-Z][a-z]+){0,8}$/.test(last))
}

/** Prefixes of credentials and ids. */
const PREFIXES =
  /^(?:sk|pk|rk|ak|org|proj|acct|req|cus|tok|gsk|xai|hf|ghp|gho|ghs|ghu|glpat|nvapi|pplx|fw|r8|sess|wrkspc|ocid1|arn|github_pat|xox[a-z])[-_.:](?!ids?$|names?$)/i
const OTHERS = /^(?:AIza|AKIA|ASIA|ya29\.|eyJ|SG\.)[\w.-]{6}/
/** Prefixes that are also words: an id must follow. */
const NOUNS =
  /^(?:user|usr|account|project|request|token|key|workspace|team|tenant|trace|organi[sz]ation|deployment)[-_].*[\dA-Z]/

/** True for a credential or an id: a key, a token, an account id. */
export function identifies(word: string): boolean {
  // "sk-ab***yz", "sk-ab...yz": part of a secret must not be shown either.
  if (/\*{2}|•|x{5}|[^.]\.{2,3}[^.]/i.test(word)) return true
  if (
    /(?:^|\W)(?:organizations|projects|accounts|subscriptions|resourceGroups|folders|tenants)\/./i.test(word)
  )
    return true
  return [word, ...word.split(PIECES)].some(isId)
}

function isId(word: string): boolean {
  if (PREFIXES.test(word) || OTHERS.test(word) || NOUNS.test(word)) return true
  if (word.includes('+') && word.length >= 16) return true
  const isMixed = isMixture(word)
  if (isMixed && word.length >= 32 && !/^[a-z_]+\.\d+\./i.test(word)) return true
  const parts = word.split(/[^A-Za-z0-9]+/)
  if (
    isMixed &&
    word.length >= 16 &&
    !/[_.]/.test(word) &&
    parts.some((part) => part.length >= 8 && isMixture(part))
  )
    return true
  return parts.some(isRandom)
}

function isMixture(part: string): boolean {
  return /\d/.test(part) && /[a-z]/i.test(part)
}

/** True for text that is no word, field name or ordinary number. */
function isRandom(part: string): boolean {
  if (part.length >= 24) return true
  const digits = part.replace(/\D+/g, '').length
  const letters = part.length - digits
  if (letters === 0) return digits >= 11
  if (digits > 0 && part.length >= 8 && /^[0-9a-f]+$/i.test(part)) return true
  if (part.length >= 8 && digits > 0 && /[a-z]/.test(part) && /[A-Z]/.test(part)) return true
  if (part.length >= 10 && digits >= 2 && letters >= 2) return true
  return part.length >= 14 && part.split(/[a-z][A-Z]/).length > 4
}
