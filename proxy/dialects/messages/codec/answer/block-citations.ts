/** Citations of text blocks. Only what a web search found means something outside of this dialect. */

import { isRecord } from '../../../core/json/value.ts'
import type { Annotation } from '../../../core/neutral/types.ts'
import { extOf, restored } from './block-ext.ts'

const AT = 'content.citations'
const WEB = 'web_search_result_location'
const KNOWN = new Set(['type', 'url', 'title'])

/** Undefined for what is no citation. */
export function readCitation(value: unknown): Annotation | undefined {
  if (!isRecord(value)) return undefined
  if (value.type === WEB && typeof value.url === 'string') {
    const title = typeof value.title === 'string' ? value.title : undefined
    const ext = extOf(AT, value, KNOWN, value.title === null ? { title: null } : undefined)
    return { type: 'url', url: value.url, ...(title !== undefined && { title }), ...(ext && { ext }) }
  }
  return { type: 'other', ext: { dialect: 'messages', at: AT, fields: value } }
}

/** `lossy`: where in the text it stood cannot be said. Undefined for what another dialect alone knows. */
export function writeCitation(
  annotation: Annotation,
): { citation: Record<string, unknown>; lossy: boolean } | undefined {
  const { ext } = annotation
  const own = ext?.dialect === 'messages'
  if (annotation.type === 'other') return own ? { citation: ext.fields, lossy: false } : undefined
  const { url, title, start, end } = annotation
  const rest = own ? restored(ext) : { cited_text: '', encrypted_index: '', title: null }
  return {
    citation: { type: WEB, ...rest, url, ...(title !== undefined && { title }) },
    lossy: start !== undefined || end !== undefined,
  }
}
