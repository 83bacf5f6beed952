/** Undoes a content-encoding that an upstream used although it was asked for none. */
import type { Transform } from 'node:stream'
import { constants, createBrotliDecompress, createUnzip, createZstdDecompress } from 'node:zlib'

/** Window that HTTP allows zstd (RFC 9659, 8 MiB), as a power of two: bounds the decoder's memory. */
const ZSTD_WINDOW_LOG = 23

/** A decoder for the value of a content-encoding header; several encodings on top of each other are `unknown`. */
export function decoderFor(encoding: string): Transform | 'identity' | 'unknown' {
  switch (encoding.trim().toLowerCase()) {
    case '':
    case 'identity':
      return 'identity'
    case 'gzip':
    case 'x-gzip':
    case 'deflate':
      return createUnzip()
    case 'br':
      return createBrotliDecompress()
    case 'zstd':
      return createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } })
    default:
      return 'unknown'
  }
}
