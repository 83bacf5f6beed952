/** Reads multipart/form-data (RFC 7578) that is complete in memory. Contents stay where they are in the body. */
import type { PartHead } from './part-head.ts'
import { FormScanner } from './scanner.ts'

export interface Part extends PartHead {
  /** Of the content, in the body. */
  start: number
  end: number
}

/** The parts in their order. Throws GatewayError invalid_request, and nothing else on any bytes. */
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
      // A body that comes in one piece has each content in one piece, which is a part of the body.
      part.start = bytes.byteOffset - body.byteOffset
      part.end = part.start + bytes.length
    },
    partEnd: () => undefined,
  })
  scanner.push(body)
  scanner.end()
  return parts
}
