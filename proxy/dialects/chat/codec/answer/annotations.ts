/** Citations of an answer. */

import { type Fields, isRecord } from '../../../core/json/value.ts'
import type { Annotation } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'

/** The annotations in an upstream's list. Skips invalid entries. */
export function readAnnotations(value: unknown): Annotation[] {
  return Array.isArray(value) ? value.filter(isRecord).map(readAnnotation) : []
}

function readAnnotation(value: Fields): Annotation {
  const cited = value.url_citation
  if (value.type !== 'url_citation' || !isRecord(cited) || typeof cited.url !== 'string') {
    return { type: 'other', ext: { dialect: 'chat', at: 'message.annotations', fields: value } }
  }
  const { url, title, start_index: start, end_index: end } = cited
  return {
    type: 'url',
    url,
    ...(typeof title === 'string' && { title }),
    ...(typeof start === 'number' && { start }),
    ...(typeof end === 'number' && { end }),
  }
}

/**
 * The annotation for a client; undefined for one that chat does not know. `offset`: number of characters in the answer's
 * text before its part.
 */
export function writeAnnotation(annotation: Annotation, offset: number): wire.AnyAnnotation | undefined {
  if (annotation.type === 'other')
    return annotation.ext.dialect === 'chat' ? annotation.ext.fields : undefined
  const { url, title = '', start, end } = annotation
  const place = (index: number | undefined) => (index === undefined ? 0 : index + offset)
  return {
    type: 'url_citation',
    url_citation: { start_index: place(start), end_index: place(end), title, url },
  } satisfies wire.Annotation
}
