/** Annotations of `output_text`, both ways. */

import { type Fields, isRecord } from '../../../core/json/value.ts'
import type { Annotation } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'

const AT = 'output.content.annotations'

/** Undefined if `value` is not an annotation. */
export function readAnnotation(value: unknown): Annotation | undefined {
  if (!isRecord(value)) return undefined
  if (value.type !== 'url_citation' || typeof value.url !== 'string') {
    return { type: 'other', ext: { dialect: 'responses', at: AT, fields: value } }
  }
  const { url, title, start_index: start, end_index: end } = value
  return {
    type: 'url',
    url,
    ...(typeof title === 'string' && { title }),
    ...(typeof start === 'number' && { start }),
    ...(typeof end === 'number' && { end }),
  }
}

/** Undefined for a kind that only another dialect has, Fields for one that only this dialect has. */
export function writeAnnotation(annotation: Annotation): wire.UrlCitation | Fields | undefined {
  if (annotation.type === 'other')
    return annotation.ext.dialect === 'responses' ? annotation.ext.fields : undefined
  const { url, title = '', start = 0, end = 0 } = annotation
  return { type: 'url_citation', url, title, start_index: start, end_index: end } satisfies wire.UrlCitation
}
