/** Reads the body of a request within its limits. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createGunzip } from 'node:zlib'
import { GatewayError } from '../errors.ts'
import { ClientGone } from './client.ts'
import type { Limits } from './gateway.ts'

/**
 * The whole body of a request, gzip undone: JSON, or one of `forms`. Throws GatewayError (413, 415, 400 for broken gzip)
 * and ClientGone. A client that waits for `100 Continue` gets it here, so that a refusal before costs no upload.
 */
export async function readBody(
  req: IncomingMessage,
  res: ServerResponse,
  limits: Limits,
  forms: readonly string[] = [],
): Promise<Buffer> {
  requireType(req.headers['content-type'], forms)
  const encoding = (req.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (encoding !== 'identity' && encoding !== 'gzip') {
    throw new GatewayError('unsupported_media_type', 'Content-Encoding must be identity or gzip.')
  }
  if (Number(req.headers['content-length'] ?? 0) > limits.maxBodyBytes) throw tooLarge(limits.maxBodyBytes)
  if (req.headers.expect?.toLowerCase() === '100-continue') res.writeContinue()
  const body = await collect(req, res, limits.maxBodyBytes)
  return encoding === 'gzip' ? inflate(body, limits.maxInflatedBytes) : body
}

function requireType(contentType: string | undefined, forms: readonly string[]): void {
  const type = contentType?.split(';')[0]?.trim().toLowerCase()
  if (type === undefined || type === '' || type === 'application/json' || type.endsWith('+json')) return
  if (forms.includes(type)) return
  const taken = ['application/json', ...forms].join(' or ')
  throw new GatewayError('unsupported_media_type', `Content-Type must be ${taken}.`)
}

function collect(req: IncomingMessage, res: ServerResponse, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // What happened before anybody listened is not told again: the client left, or its body was refused as broken.
    if (req.destroyed || res.destroyed || res.writableEnded) return reject(new ClientGone())
    const chunks: Buffer[] = []
    let size = 0
    req.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBytes) chunks.push(chunk)
      else {
        chunks.length = 0
        reject(tooLarge(maxBytes))
      }
    })
    let ended = false
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

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError('request_too_large', `The request body is larger than ${maxBytes} bytes.`)
}
