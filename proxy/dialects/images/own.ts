/** What requests for images carry for this dialect. */
import type { ModelSpan } from '../core/json/model-splice.ts'
import type { Part } from './form/parse.ts'
import type { Field } from './form/write.ts'

export type ImagesOwn = JsonBody | EditForm | UploadStart

interface JsonBody extends ModelSpan {
  kind: 'json'
}

/** The parts of a form, and the boundary under which it is sent. */
export interface EditForm {
  kind: 'form'
  parts: Part[]
  boundary: string
}

/** The texts before the first file of a form that is too large for memory, and the boundary under which it is sent. */
export interface UploadStart {
  kind: 'upload'
  texts: Field[]
  boundary: string
}
