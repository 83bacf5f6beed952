/**
 * The request log: one JSON line for each request, to standard output and to the store's capped log. Identifiers,
 * timings and money; of an upstream only status, listed headers and an error's body with credentials masked. Never a
 * key, and of prompts nothing but what an upstream's error quotes.
 */
import type { ApiName } from '../../contract/endpoints.ts'
import { formatDollars, type Nanos } from '../../contract/money.ts'
import type { Usage } from '../../contract/usage.ts'
import type { StateStore } from '../../store/contract.ts'

const MAX_BODY_BYTES = 65_536
/** Lines of callers without a good key that the store takes in a second: a flood of them must not push out all others. */
const STRANGERS_PER_SECOND = 20
const LOGGED_HEADERS = [
  'content-type',
  'retry-after',
  'x-request-id',
  'request-id',
  'openai-processing-ms',
  'server',
]
/** Things that look like a credential, whoever they belong to. */
const CREDENTIAL_SHAPES = [
  /\b(?:sk|pk|rk|key|gsk|xai|AIza|ghp|hf)[-_][A-Za-z0-9*._-]{6,}/g,
  /\bAIza[A-Za-z0-9_-]{10,}/g,
  /(?<![\w-])eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]+)?/g,
  /\b(?:Bearer|Basic)\s+[^\s"']{4,}/gi,
]

/** What a relayed request was about; nothing else of its URL, its body or its answer is kept. */
export interface RelayRecord {
  /** Scheme, host and port. */
  origin?: string | undefined
  style: ApiName
  /** Bytes of the body to the upstream. */
  sent: number
  /** Bytes of the answer's body that came. */
  received: number
}

/** One attempt on an upstream, for the log. */
export interface AttemptRecord {
  channel: string
  /** `byte`, or `hub` where a conversion took place. */
  lane?: 'byte' | 'hub' | undefined
  /** Path of the URL that was called, without its query. */
  path?: string | undefined
  status?: number | undefined
  /** `ok` or the class of the failure. */
  class: string
  /** What went wrong, in our words. */
  detail?: string | undefined
  /** What an operator can do about it. */
  hint?: string | undefined
  headers?: Record<string, string> | undefined
  /** Body of an error answer. */
  body?: string | undefined
  ms: number
}

const HINTS: Partial<Record<string, string>> = {
  no_finish_reason:
    'an upstream that never sends a finish_reason needs features.finishReason: false on its Channel',
}

/** The detail of a failure, and what can be done about it. */
export function detailOf({ detail }: { detail: string }): Pick<AttemptRecord, 'detail' | 'hint'> {
  const hint = HINTS[detail]
  return hint === undefined ? { detail } : { detail, hint }
}

export interface RequestRecord {
  requestId: string
  traceparent?: string | undefined
  endpoint: string
  /** The ApiKey: namespace/name. */
  key?: string | undefined
  /** The end of the key. */
  keyPreview?: string | undefined
  account?: string | undefined
  namespace?: string | undefined
  client?: string | undefined
  model?: string | undefined
  route?: string | undefined
  stream?: boolean | undefined
  status: number
  code?: string | undefined
  /** The field of the client's request that the error names. */
  param?: string | undefined
  /** In our words: why there was no route, how a stream ended. */
  outcome?: string | undefined
  attempts: AttemptRecord[]
  relay?: RelayRecord | undefined
  /** What a conversion dropped, by the client's names. */
  dropped?: string[] | undefined
  usage?: Usage | undefined
  hold?: Nanos | undefined
  settled?: Nanos | undefined
  reason?: string | undefined
  ms: { total: number; body?: number; firstEvent?: number; overhead?: number }
}

export class RequestLog {
  readonly #state: StateStore
  readonly #write: (line: string) => void
  readonly #bodies: 'full' | 'redacted'
  readonly #dropped: () => void
  #second = 0
  #strangers = 0

  /** `dropped` hears of each line that the store did not take, or was not given. */
  constructor(
    state: StateStore,
    write: (line: string) => void,
    bodies: 'full' | 'redacted',
    dropped: () => void,
  ) {
    this.#state = state
    this.#write = write
    this.#bodies = bodies
    this.#dropped = dropped
  }

  write(record: RequestRecord): void {
    const { hold, settled, ...rest } = record
    const line = toLine({
      time: new Date().toISOString(),
      level: record.status >= 500 ? 'warn' : 'info',
      kind: 'request',
      ...rest,
      ...(hold === undefined ? {} : { hold: formatDollars(hold) }),
      ...(settled === undefined ? {} : { settled: formatDollars(settled) }),
    })
    this.#write(line)
    // The capped log is a convenience: a request never fails for it, and nobody waits for it.
    if (record.key === undefined && !this.#hasRoomForStranger()) this.#dropped()
    else this.#state.appendLog(line).catch(this.#dropped)
  }

  #hasRoomForStranger(): boolean {
    const second = Math.floor(performance.now() / 1_000)
    if (second !== this.#second) this.#strangers = 0
    this.#second = second
    this.#strangers += 1
    return this.#strangers <= STRANGERS_PER_SECOND
  }

  /** What the log keeps of an error answer. `secrets` are masked wherever they stand. */
  errorAnswer(
    headers: Record<string, string | string[] | undefined>,
    body: Buffer,
    secrets: readonly string[],
  ): Pick<AttemptRecord, 'headers' | 'body'> {
    const kept: Record<string, string> = {}
    for (const name of LOGGED_HEADERS) {
      const value = headers[name]
      if (value !== undefined) kept[name] = mask(String(value), secrets)
    }
    if (this.#bodies === 'redacted') return { headers: kept, body: `(${body.length} bytes)` }
    return { headers: kept, body: mask(body.toString('utf8', 0, MAX_BODY_BYTES), secrets) }
  }
}

/** Replaces the given secrets and everything of a credential's shape. */
export function mask(text: string, secrets: readonly string[]): string {
  let masked = text
  // Longest first: a secret inside another one must not save the rest of it.
  for (const secret of secrets.toSorted((a, b) => b.length - a.length))
    if (secret.length >= 4) masked = masked.replaceAll(secret, '***')
  for (const shape of CREDENTIAL_SHAPES) masked = masked.replace(shape, '***')
  return masked
}

/** Beyond what JSON escapes: characters that change how a terminal shows what stands around them. */
const UNSHOWN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
const ASCII = /^[ -~]*$/

function toLine(entry: object): string {
  const line = JSON.stringify(entry)
  return ASCII.test(line) ? line : line.replace(UNSHOWN, escaped)
}

function escaped(text: string): string {
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}
