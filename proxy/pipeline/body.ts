/** Reads the body of a request within its limits. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createGunzip } from 'node:zlib'
import type { ClientApi } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import { ClientGone } from './client.ts'
import type { Limits } from './gateway.ts'

/** The beginning of a body that is larger than what is held in memory. Nothing more is read until somebody does. */
export interface LargeBody {
  prefix: Buffer
  /** Paused. */
  req: IncomingMessage
  res: ServerResponse
  /** Of the whole. */
  maxBytes: number
}

/**
 * The body of a request, gzip undone: JSON, or a form that the API takes. Of a form that is too large to be held only
 * the beginning, where the API takes uploads. Throws GatewayError (413, 415, 400 for broken gzip) and ClientGone. A
 * client that waits for `100 Continue` gets it here, so that a refusal before costs no upload.
 */
export async function readBody(
  req: IncomingMessage,
  res: ServerResponse,
  limits: Limits,
  { forms = [], parseUpload }: Pick<ClientApi, 'forms' | 'parseUpload'> = {},
): Promise<Buffer | LargeBody> {
  const isForm = requireType(req.headers['content-type'], forms) === 'form'
  const encoding = (req.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (encoding !== 'identity' && encoding !== 'gzip') {
    throw new GatewayError('unsupported_media_type', 'Content-Encoding must be identity or gzip.')
  }
  const { maxBodyBytes, maxUploadBytes } = limits
  const passesOn = isForm && parseUpload !== undefined && encoding === 'identity'
  const maxBytes = passesOn ? Math.max(maxBodyBytes, maxUploadBytes) : maxBodyBytes
  if (Number(req.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
  if (req.headers.expect?.toLowerCase() === '100-continue') res.writeContinue()
  const body = await collect(req, res, maxBodyBytes, maxBytes)
  return encoding === 'gzip' && Buffer.isBuffer(body) ? inflate(body, limits.maxInflatedBytes) : body
}

function requireType(contentType: string | undefined, forms: readonly string[]): 'json' | 'form' {
  const type = contentType?.split(';')[0]?.trim().toLowerCase()
  if (type === undefined || type === '' || type === 'application/json' || type.endsWith('+json'))
    return 'json'
  if (forms.includes(type)) return 'form'
  const taken = ['application/json', ...forms].join(' or ')
  throw new GatewayError('unsupported_media_type', `Content-Type must be ${taken}.`)
}

/** Beyond `heldBytes` the rest is left to be read; beyond `maxBytes` it is refused. */
function collect(
  req: IncomingMessage,
  res: ServerResponse,
  heldBytes: number,
  maxBytes: number,
): Promise<Buffer | LargeBody> {
  return new Promise((resolve, reject) => {
    // What happened before anybody listened is not told again: the client left, or its body was refused as broken.
    if (req.destroyed || res.destroyed || res.writableEnded) return reject(new ClientGone())
    const chunks: Buffer[] = []
    let size = 0
    let ended = false
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBytes) chunks.push(chunk)
      if (size <= heldBytes) return
      if (size > maxBytes) reject(tooLarge(maxBytes))
      else {
        req.off('data', take).pause()
        resolve({ prefix: Buffer.concat(chunks), req, res, maxBytes })
      }
      chunks.length = 0
    }
    req.on('data', take)
    const gone = () => {
      if (!ended) reject(new ClientGone())
    }
    req.on('end', () => {
      ended = true
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks))
    })
    req.on('error', gone)
    req.on('close', gone)
    // The server has answered a body that came too slowly or broken; of the request nothing more is heard.
    res.on('close', gone)
  })
}

function inflate(body: Buffer, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const gunzip = createGunzip()
    gunzip.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) gunzip.destroy(tooLarge(maxBytes))
      else chunks.push(chunk)
    })
    gunzip.on('end', () => resolve(Buffer.concat(chunks)))
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
