/** Reads the body of a request within its limits. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createGunzip } from 'node:zlib'
import { Together } from '../../../kit/together.ts'
import type { ClientApi } from '../../dialects/core/dialect.ts'
import type { Member } from '../../dialects/core/json/scanned-body.ts'
import { type Entry, JsonScanner, membersOf } from '../../dialects/core/json/scanner.ts'
import type { JsonLimits } from '../../dialects/core/request.ts'
import { GatewayError } from '../../errors.ts'
import type { Limits } from '../limits.ts'
import { ClientGone } from '../request/client.ts'
import type { BodyIntake } from './intake.ts'
import { type BodyLease, type BodyMemory, noMemory } from './memory.ts'
import { receive } from './receive.ts'

export interface WholeBody {
  bytes: Buffer
  /** Of a JSON object that was scanned while it arrived, within the bounds of `BodyBounds.json`. */
  members?: Member[]
  /** The bytes of a JSON body that takes long to parse, in memory that a thread can share. */
  shared?: SharedArrayBuffer
}

/** The beginning of a body that is too large to hold in memory. The rest stays unread until the upload takes it. */
export interface LargeBody {
  prefix: Buffer
  /** Call when the beginning is no longer held. */
  sent: () => void
  /** Paused. */
  req: IncomingMessage
  res: ServerResponse
  /** Bound on the whole body. */
  maxBytes: number
}

/** Bounds on one body, and the memory that all bodies share. */
type BodyBounds = Pick<Limits, 'maxBodyBytes' | 'maxUploadBytes' | 'maxInflatedBytes'> & {
  memory: BodyMemory
  /** Bounds on JSON, checked while it arrives; absent: not checked. */
  json?: JsonLimits
}

/** The bounds for bodies of one endpoint, or of the relay. */
export function bodyBounds(
  { limits, memory }: Pick<BodyIntake, 'limits' | 'memory'>,
  endpoint: string,
): BodyBounds {
  const most = limits.endpointBytes.get(endpoint) ?? Infinity
  return {
    maxBodyBytes: Math.min(limits.maxBodyBytes, most),
    maxUploadBytes: Math.min(limits.maxUploadBytes, most),
    maxInflatedBytes: Math.min(limits.maxInflatedBytes, most),
    memory,
    json: limits.json,
  }
}

/**
 * Reads the body of a request and undoes gzip: JSON, or a form that the API takes. If the API accepts uploads, a form
 * that is too large to hold is returned as its beginning. Throws GatewayError (413, 415, 400 for broken gzip, 503 when
 * memory is short) and ClientGone. A client that waits for `100 Continue` gets it here, so that an earlier refusal saves
 * it the upload.
 */
export async function readBody(
  req: IncomingMessage,
  res: ServerResponse,
  bounds: BodyBounds,
  { forms = [], parseUpload }: Pick<ClientApi, 'forms' | 'parseUpload'> = {},
): Promise<WholeBody | LargeBody> {
  const isForm = requireType(req.headers['content-type'], forms) === 'form'
  const encoding = (req.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (encoding !== 'identity' && encoding !== 'gzip') {
    throw new GatewayError('unsupported_media_type', 'Content-Encoding must be identity or gzip.')
  }
  const { memory, json, maxBodyBytes, maxUploadBytes } = bounds
  const passesOn = isForm && parseUpload !== undefined && encoding === 'identity'
  const maxBytes = passesOn ? Math.max(maxBodyBytes, maxUploadBytes) : maxBodyBytes
  const length = Number(req.headers['content-length'] ?? Infinity)
  if (length > maxBytes && length < Infinity) throw tooLarge(maxBytes)
  if (req.headers.expect?.toLowerCase() === '100-continue') res.writeContinue()
  const isGzip = encoding === 'gzip'
  const entries: Entry[] = []
  const scanner =
    isForm || json === undefined || (length <= SCAN_FROM_BYTES && !isGzip)
      ? undefined
      : new JsonScanner({ limits: json, onlyObjects: true, each: (entry) => entries.push(entry) })
  const look = (chunk: Buffer) => scanner?.push(chunk)
  const { held, lease, large } = await collect(req, res, {
    length,
    maxBodyBytes,
    maxBytes,
    memory,
    look: isGzip ? undefined : look,
  })
  const chunks = held.take()
  if (large !== undefined) return { ...large, prefix: await joined(chunks) }
  const sent = isGzip ? (isLarge(chunks) ? await joined(chunks) : whole(chunks)) : undefined
  const all = sent === undefined ? chunks : await inflate(sent, bounds.maxInflatedBytes, lease, look)
  if (scanner === undefined) return { bytes: isLarge(all) ? await joined(all) : whole(all) }
  const isHeavy = isLarge(all) || scanner.values > MANY_VALUES
  const bytes = isHeavy ? await joined(all) : whole(all)
  if (bytes.buffer instanceof SharedArrayBuffer) return { bytes, shared: bytes.buffer }
  return { bytes, members: membersOf(bytes, entries) }
}

/** `limits`, with what the scan of this body has found. */
export function withScan(limits: JsonLimits, { bytes, members }: WholeBody): JsonLimits {
  return members === undefined ? limits : { ...limits, scanned: { bytes, members } }
}

/** Smaller bodies are scanned when they are whole. */
const SCAN_FROM_BYTES = 131_072
/** Larger bodies take milliseconds to parse, and so do smaller ones with more values than MANY_VALUES. */
const LARGE_BYTES = 1_048_576
const MANY_VALUES = 20_000
/** Bytes that one client may send, or that are copied, before others have their turn: less than a millisecond of work. */
const STEP_BYTES = 262_144
/** Larger than zlib's own 16 KiB: each chunk is a turn of the event loop. */
const INFLATED_CHUNK_BYTES = 131_072

function requireType(contentType: string | undefined, forms: readonly string[]): 'json' | 'form' {
  const type = contentType?.split(';')[0]?.trim().toLowerCase()
  if (type === undefined || type === '' || type === 'application/json' || type.endsWith('+json'))
    return 'json'
  if (forms.includes(type)) return 'form'
  const taken = ['application/json', ...forms].join(' or ')
  throw new GatewayError('unsupported_media_type', `Content-Type must be ${taken}.`)
}

interface Collecting {
  /** Content-Length; Infinity when it is not known. */
  length: number
  /** Beyond it, reading pauses. */
  maxBodyBytes: number
  /** Beyond it the body is refused. */
  maxBytes: number
  memory: BodyMemory
  /** Checks each chunk; throws GatewayError to refuse the body. */
  look: ((chunk: Buffer) => void) | undefined
}

interface Collected {
  held: Pieces
  lease: BodyLease
  /** The chunks are only the beginning. */
  large: Omit<LargeBody, 'prefix'> | undefined
}

/** Bodies that have arrived; their requests go on together. */
const ARRIVED = new Together()

function collect(
  req: IncomingMessage,
  res: ServerResponse,
  { length, maxBodyBytes: heldBytes, maxBytes, memory, look }: Collecting,
): Promise<Collected> {
  return new Promise((resolve, reject) => {
    // Events from before are not repeated: the client left, or its body was refused as broken.
    if (req.destroyed || res.destroyed || res.writableEnded) return reject(new ClientGone())
    const held = new Pieces()
    const refuse = (error: unknown) => {
      source.letGo()
      held.clear()
      lease.release()
      reject(error)
    }
    const lease = memory.lease(refuse, length)
    let size = 0
    let step = 0
    let ended = false
    const done = (large?: Collected['large']) => {
      lease.complete()
      resolve({ held, lease, large })
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      step += chunk.length
      if (size <= maxBytes) {
        held.push(chunk)
        lease.take(chunk.length)
        try {
          look?.(chunk)
        } catch (error) {
          refuse(error)
          return true
        }
      }
      if (size > maxBytes) refuse(tooLarge(maxBytes))
      else if (size > heldBytes) {
        source.letGo()
        req.pause()
        done({ sent: () => lease.release(), req, res, maxBytes })
      } else if (step >= STEP_BYTES) {
        step = 0
        // Without this, a fast client sends megabytes before another has its turn.
        setImmediate(() => source.readOn())
        return false
      }
      return true
    }
    const end = () => {
      ended = true
      ARRIVED.add(done)
    }
    const gone = () => {
      if (!ended) reject(new ClientGone())
    }
    const source = receive(req, { take, end, gone })
    // The server has answered a body that was too slow or broken; the request emits nothing more.
    res.on('close', () => {
      lease.release()
      gone()
    })
  })
}

/** Smaller chunks are copied together: a Buffer of its own would cost more than their bytes. */
const SMALL_BYTES = 4_096
const MAX_BLOCK_BYTES = 65_536
const NO_BYTES = Buffer.alloc(0)

/** Collects chunks of any size in at most twice the memory of their bytes. */
class Pieces {
  #whole: Buffer[] = []
  /** The block that small chunks are copied to; it follows the others. */
  #block = NO_BYTES
  #used = 0
  #size = 0

  push(chunk: Buffer): void {
    const fits = chunk.length <= this.#block.length - this.#used
    if (!fits) this.#seal()
    // Most bodies have one chunk only.
    if (!fits && (chunk.length >= SMALL_BYTES || this.#size === 0)) this.#whole.push(chunk)
    else this.#copy(chunk)
    this.#size += chunk.length
  }

  /** Removes the chunks: the listeners of the request keep this object until its end. */
  take(): Buffer[] {
    this.#seal()
    const chunks = this.#whole
    this.clear()
    return chunks
  }

  clear(): void {
    this.#whole = []
    this.#block = NO_BYTES
    this.#used = 0
  }

  #copy(chunk: Buffer): void {
    // Reserve about as much as has arrived: otherwise a slow client holds memory that it never fills.
    if (this.#block.length === 0)
      this.#block = Buffer.allocUnsafeSlow(Math.min(MAX_BLOCK_BYTES, Math.max(SMALL_BYTES, this.#size)))
    chunk.copy(this.#block, this.#used)
    this.#used += chunk.length
  }

  #seal(): void {
    if (this.#used > 0) this.#whole.push(this.#block.subarray(0, this.#used))
    this.#block = NO_BYTES
    this.#used = 0
  }
}

function whole(chunks: readonly Buffer[]): Buffer {
  const [only, second] = chunks
  return only !== undefined && second === undefined ? only : Buffer.concat(chunks)
}

function isLarge(chunks: readonly Buffer[]): boolean {
  return sizeOf(chunks) > LARGE_BYTES
}

function sizeOf(chunks: readonly Buffer[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0)
}

/** The chunks in one piece of shared memory, copied in steps. */
async function joined(chunks: readonly Buffer[]): Promise<Buffer> {
  const bytes = Buffer.from(new SharedArrayBuffer(sizeOf(chunks)))
  let at = 0
  let step = 0
  for (const chunk of chunks) {
    for (let from = 0; from < chunk.length; from += STEP_BYTES) {
      const copied = chunk.copy(bytes, at, from, from + STEP_BYTES)
      at += copied
      step += copied
      if (step < STEP_BYTES) continue
      step = 0
      await new Promise(setImmediate)
    }
  }
  return bytes
}

/** A JSON body that has not come over HTTP. */
export async function jsonBody(bytes: Buffer): Promise<WholeBody> {
  if (bytes.length <= LARGE_BYTES) return { bytes }
  const copy = await joined([bytes])
  return copy.buffer instanceof SharedArrayBuffer ? { bytes: copy, shared: copy.buffer } : { bytes: copy }
}

function inflate(
  body: Buffer,
  maxBytes: number,
  lease: BodyLease,
  look: (chunk: Buffer) => void,
): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const gunzip = createGunzip({ chunkSize: INFLATED_CHUNK_BYTES })
    gunzip.on('data', (chunk: Buffer) => {
      size += chunk.length
      try {
        if (size > maxBytes) throw tooLarge(maxBytes)
        if (!lease.take(chunk.length)) throw noMemory()
        look(chunk)
        chunks.push(chunk)
      } catch (error) {
        gunzip.destroy(GatewayError.from(error))
      }
    })
    gunzip.on('end', () => resolve(chunks))
    gunzip.on('error', (error) =>
      reject(
        error instanceof GatewayError
          ? error
          : new GatewayError('invalid_request', 'The body is not valid gzip.'),
      ),
    )
    gunzip.end(body)
  })
}

export function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError('request_too_large', `The request body is larger than ${maxBytes} bytes.`)
}
