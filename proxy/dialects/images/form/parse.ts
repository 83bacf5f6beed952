/** Reads multipart/form-data (RFC 7578) that is complete in memory, without copying the contents. */
import type { PartHead } from './part-head.ts'
import { FormScanner } from './scanner.ts'

export interface Part extends PartHead {
  /** The position of the content in the body. */
  start: number
  end: number
}

/** The parts in order. Throws GatewayError invalid_request and nothing else, whatever the bytes are. */
export function parseForm(body: Buffer, boundary: string, maxParts: number): Part[] {
  const parts: Part[] = []
  let part: Part | undefined
  const scanner = new FormScanner(boundary, maxParts, {
    partStart: (head) => {
      part = { ...head, start: 0, end: 0 }
      parts.push(part)
    },
    content: (bytes) => {
      if (part === undefined) return
      // The body is pushed in one piece, so each content is one slice of it.
      part.start = bytes.byteOffset - body.byteOffset
      part.end = part.start + bytes.length
    },
    partEnd: () => undefined,
  })
  scanner.push(body)
  scanner.end()
  return parts
}
