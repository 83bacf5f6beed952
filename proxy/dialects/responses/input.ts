import { isRecord } from '../core/json/value.ts'
import { decodedLength, type InputFields } from '../core/json/weigh.ts'

/** How to estimate the input tokens of a request. */
export const INPUT_FIELDS: InputFields = {
  conversation: ['input', 'instructions'],
  schemas: ['tools', 'text'],
  tools: ['tools'],
  labels: new Set(['role', 'type', 'id', 'call_id', 'file_id', 'detail', 'format', 'status', 'phase']),
  weighWhole(part, scale) {
    if (part.type === 'input_image') {
      scale.size.images++
      return true
    }
    if (part.type === 'input_audio' && isRecord(part.input_audio)) {
      scale.size.audioBytes += decodedLength(part.input_audio.data)
      return true
    }
    if (part.type === 'input_file') {
      scale.size.fileBytes += decodedLength(part.file_data)
      scale.add(part.filename)
      return true
    }
    return false
  },
}
