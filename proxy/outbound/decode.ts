/** Decodes answers of upstreams that compress although the gateway requested no content-encoding. */
import type { Transform } from 'node:stream'
import { constants, createBrotliDecompress, createUnzip, createZstdDecompress } from 'node:zlib'

/** The largest window that HTTP allows for zstd (RFC 9659, 8 MiB), as a power of two. It bounds the decoder's memory. */
const ZSTD_WINDOW_LOG = 23

/** A decoder for the value of a content-encoding header; several combined encodings are `unknown`. */
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
