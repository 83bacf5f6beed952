/**
 * The request log: one JSON line for each request, to standard output and to the store's capped log. It has identifiers,
 * timings and money, and from upstreams the status, listed headers and error bodies with credentials masked. It never has
 * a key, and from prompts only the parts that an upstream's error quotes.
 */
import type { ApiName } from '../../contract/apis.ts'
import { formatDollars, type Nanos } from '../../contract/money.ts'
import type { Usage } from '../../contract/usage.ts'
import { rescued } from '../../kit/soon.ts'
import type { StateStore } from '../../store/contract.ts'

const MAX_BODY_BYTES = 65_536
/** Lines per second for requests without a valid key. Without this bound a flood of them would push out all others. */
const STRANGERS_PER_SECOND = 20
const LOGGED_HEADERS = [
  'content-type',
  'retry-after',
  'x-request-id',
  'request-id',
  'openai-processing-ms',
  'server',
]
/** Texts that look like a credential of any vendor. */
const CREDENTIAL_SHAPES = [
  /\b(?:sk|pk|rk|key|gsk|xai|AIza|ghp|hf)[-_][A-Za-z0-9*._-]{6,}/g,
  /\bAIza[A-Za-z0-9_-]{10,}/g,
  /(?<![\w-])eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]+)?/g,
  /\b(?:Bearer|Basic)\s+[^\s"']{4,}/gi,
]

/** The logged part of a relayed request; nothing else of its URL, body or answer is kept. */
interface RelayRecord {
  /** Scheme, host and port. */
  origin?: string | undefined
  style: ApiName
  /** Bytes of the body to the upstream. */
  sent: number
  /** Bytes received of the answer's body. */
  received: number
}

/** One attempt on an upstream, for the log. */
export interface AttemptRecord {
  channel: string
  /** `byte`, or `hub` for a conversion. */
  lane?: 'byte' | 'hub' | undefined
  /** Path of the upstream URL, without its query. */
  path?: string | undefined
  status?: number | undefined
  /** `ok` or the class of the failure. */
  class: string
  /** The failure, in words of the gateway. */
  detail?: string | undefined
  /** Advice for the operator. */
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

/** The detail of a failure, and its hint. */
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
  /** Why there was no route, or how a stream ended, in words of the gateway. */
  outcome?: string | undefined
  attempts: AttemptRecord[]
  relay?: RelayRecord | undefined
  /** Of the header x-sluice-tag. */
  tags?: Readonly<Record<string, string>> | undefined
  /** The losses of a conversion, by the client's names. */
  dropped?: string[] | undefined
  usage?: Usage | undefined
  hold?: Nanos | undefined
  settled?: Nanos | undefined
  /** Limit on output tokens that the gateway added to the request. */
  outputLimit?: number | undefined
  reason?: string | undefined
  /** What was unusual about the charge, such as `usage_clamped`. */
  flags?: readonly string[] | undefined
  ms: { total: number; body?: number; firstEvent?: number; overhead?: number }
}

export class RequestLog {
  readonly #state: StateStore
  readonly #write: (line: string) => void
  readonly #bodies: 'full' | 'redacted'
  readonly #dropped: () => void
  #second = 0
  #strangers = 0

  /** Calls `dropped` for each line that the store did not take or did not get. */
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
    const { hold, settled } = record
    const shown = {
      ...record,
      hold: hold === undefined ? undefined : formatDollars(hold),
      settled: settled === undefined ? undefined : formatDollars(settled),
    }
    const line = toLine(shown, record.status >= 500 ? 'warn' : 'info')
    this.#write(line)
    // The capped log is a convenience: a request never fails or waits for it.
    if (record.key === undefined && !this.#hasRoomForStranger()) this.#dropped()
    else void rescued(() => this.#state.appendLog(line), this.#dropped)
  }

  #hasRoomForStranger(): boolean {
    const second = Math.floor(performance.now() / 1_000)
    if (second !== this.#second) this.#strangers = 0
    this.#second = second
    this.#strangers += 1
    return this.#strangers <= STRANGERS_PER_SECOND
  }

  /** The logged part of an error answer, with `secrets` masked. */
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

/** Masks the given secrets, and every text that looks like a credential. */
export function mask(text: string, secrets: readonly string[]): string {
  let masked = text
  // Longest first: masking a secret inside a longer one would leave the rest of the longer one readable.
  for (const secret of secrets.toSorted((a, b) => b.length - a.length))
    if (secret.length >= 4) masked = masked.replaceAll(secret, '***')
  for (const shape of CREDENTIAL_SHAPES) masked = masked.replace(shape, '***')
  return masked
}

/** Characters that JSON does not escape, and that change how a terminal shows the text around them. */
const UNSHOWN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
const DEL = '\x7f'

/** The fields before those of the record are the same in every line of a log. */
function toLine(record: object, level: 'info' | 'warn'): string {
  const head = `{"time":"${new Date().toISOString()}","level":"${level}","kind":"request",`
  const line = head + JSON.stringify(record).slice(1)
  // Without other characters than those of ASCII, DEL is the only one to escape. Ten times as fast as the pattern.
  const isAscii = Buffer.byteLength(line) === line.length
  return isAscii && !line.includes(DEL) ? line : line.replace(UNSHOWN, escaped)
}

function escaped(text: string): string {
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}
