/** Annotations of `output_text`, both ways. */

import { isRecord } from '../../../core/json/value.ts'
import type { Annotation, Ext } from '../../../core/neutral/types.ts'

const AT = 'output.content.annotations'

/** Undefined for what is no annotation. */
export function readAnnotation(value: unknown): Annotation | undefined {
  if (!isRecord(value)) return undefined
  if (value.type !== 'url_citation' || typeof value.url !== 'string') {
    return { type: 'other', ext: { dialect: 'responses', at: AT, fields: value } }
  }
  const { type: _type, url, ...fields } = value
  const annotation: Annotation = { type: 'url', url }
  const { title, start_index: start, end_index: end } = value
  if (typeof title === 'string') {
    annotation.title = title
    delete fields.title
  }
  if (typeof start === 'number') {
    annotation.start = start
    delete fields.start_index
  }
  if (typeof end === 'number') {
    annotation.end = end
    delete fields.end_index
  }
  const isWhole = title !== undefined && start !== undefined && end !== undefined
  if (!isWhole || Object.keys(fields).length > 0) annotation.ext = { dialect: 'responses', at: AT, fields }
  return annotation
}

/** Undefined for a kind that only another dialect knows. */
export function writeAnnotation(annotation: Annotation): Record<string, unknown> | undefined {
  if (annotation.type === 'other') return ownFields(annotation.ext)
  const { url, title, start, end, ext } = annotation
  const others = ownFields(ext) ?? { title: '', start_index: 0, end_index: 0 }
  return {
    ...others,
    type: 'url_citation',
    url,
    ...(title !== undefined && { title }),
    ...(start !== undefined && { start_index: start }),
    ...(end !== undefined && { end_index: end }),
  }
}

function ownFields(ext: Ext | undefined): Record<string, unknown> | undefined {
  return ext?.dialect === 'responses' ? ext.fields : undefined
}
