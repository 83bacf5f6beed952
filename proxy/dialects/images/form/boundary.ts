import { randomBytes } from 'node:crypto'
import { GatewayError } from '../../../errors.ts'
import { readHeader } from './parameters.ts'

export const MULTIPART = 'multipart/form-data'

const BOUNDARY = /^[\w'()+,\-./:=? ]{0,69}[\w'()+,\-./:=?]$/

export function isMultipart(contentType: string | undefined): contentType is string {
  return contentType !== undefined && contentType.slice(0, MULTIPART.length).toLowerCase() === MULTIPART
}

/** The boundary in a content type of multipart/form-data (RFC 2046 5.1.1). Throws GatewayError invalid_request. */
export function readBoundary(contentType: string): string {
  const header = readHeader(contentType)
  const boundary = header?.parameters.get('boundary')
  if (header?.value !== MULTIPART || boundary === undefined || !BOUNDARY.test(boundary)) {
    throw new GatewayError('invalid_request', `The content type ${MULTIPART} must name a valid boundary.`)
  }
  return boundary
}

/** A random boundary, so that no client can put it into content on purpose. */
export function newBoundary(): string {
  return `form-${randomBytes(24).toString('hex')}`
}

export function multipartType(boundary: string): string {
  return `${MULTIPART}; boundary=${boundary}`
}
