/** Citations of text blocks. Other dialects have only those of web searches. */

import { isRecord } from '../../../core/json/value.ts'
import type { Annotation } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'

const AT = 'content.citations'
const WEB = 'web_search_result_location'

/** Undefined for a value that is not a citation. */
export function readCitation(value: unknown): Annotation | undefined {
  if (!isRecord(value)) return undefined
  if (value.type === WEB && typeof value.url === 'string') {
    return { type: 'url', url: value.url, ...(typeof value.title === 'string' && { title: value.title }) }
  }
  return { type: 'other', ext: { dialect: 'messages', at: AT, fields: value } }
}

/** `lossy`: the position in the text is lost. Undefined for an annotation that only another dialect knows. */
export function writeCitation(
  annotation: Annotation,
): { citation: wire.Citation; lossy: boolean } | undefined {
  if (annotation.type === 'other') {
    const { dialect, fields } = annotation.ext
    return dialect === 'messages' ? { citation: fields, lossy: false } : undefined
  }
  const { url, title = null, start, end } = annotation
  return {
    citation: { type: WEB, cited_text: '', encrypted_index: '', title, url } satisfies wire.WebCitation,
    lossy: start !== undefined || end !== undefined,
  }
}
