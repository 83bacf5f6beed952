/** Images and requests for images, for the tests of this folder. */
import { GatewayError } from '../../errors.ts'
import type { ClientView } from '../core/codec.ts'
import type { ParsedRequest } from '../core/request.ts'
import { noLosses } from '../testing.ts'
import { writeForm } from './form/write.ts'
import { imageEdits, images } from './index.ts'
import type { ImagesOwn } from './own.ts'

export const FORM_LIMITS = {
  maxParts: 80,
  maxFiles: 17,
  maxFileBytes: 50 * 1024 * 1024,
  maxFieldBytes: 1024 * 1024,
}
export const LIMITS = { maxDepth: 20, maxKeys: 100, form: FORM_LIMITS }
/** Only the first bytes of these files matter. */
export const PNG = Buffer.from('\x89PNG\r\n\x1a\nrest of an image', 'latin1')
export const JPEG = Buffer.from('\xff\xd8\xff\xe0rest of an image', 'latin1')
export const WEBP = Buffer.from('RIFF\x24\0\0\0WEBPVP8 rest', 'latin1')
export const GIF = Buffer.from('GIF89a rest of an image', 'latin1')
export const BOUNDARY = 'X-BOUNDARY'
export const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`

export type FormEntry = [name: string, content: string | Buffer, filename?: string, contentType?: string]

export function formBody(entries: readonly FormEntry[], boundary = BOUNDARY): Buffer {
  const fields = entries.map(([name, content, filename, contentType]) => ({
    name,
    content,
    ...(filename !== undefined && { filename }),
    ...(contentType !== undefined && { contentType }),
  }))
  return writeForm(fields, boundary)
}

export function generation(body: object): ParsedRequest<ImagesOwn> {
  return images.parseRequest(Buffer.from(JSON.stringify(body)), LIMITS, {})
}

export function edit(body: object): ParsedRequest<ImagesOwn> {
  const headers = { 'content-type': 'application/json' }
  return imageEdits.parseRequest(Buffer.from(JSON.stringify(body)), LIMITS, headers)
}

export function editForm(entries: readonly FormEntry[]): ParsedRequest<ImagesOwn> {
  return imageEdits.parseRequest(formBody(entries), LIMITS, { 'content-type': MULTIPART })
}

export const VALID_REQUEST = { model: 'm', prompt: 'A cat' }
export const VALID_FORM: FormEntry[] = [
  ['model', 'm'],
  ['prompt', 'A hat'],
  ['image', PNG, 'a.png', 'image/png'],
]

/** The code and the field of the error that `run` throws. */
export function refusalOf(run: () => unknown): [string, string | undefined] | undefined {
  try {
    run()
  } catch (error) {
    if (error instanceof GatewayError) return [error.code, error.param]
    throw error
  }
  return undefined
}

export function clientOf(parsed: ParsedRequest): ClientView {
  return {
    request: { model: 'm', stream: parsed.head.stream, turns: [], tools: [] },
    parsed,
    id: 'X',
    created: 1700,
    inputTokens: 9,
    envelopes: { seal: () => '', open: () => 'foreign' },
    losses: noLosses('images'),
  }
}
