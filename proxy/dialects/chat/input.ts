import { isRecord } from '../core/json/value.ts'
import { decodedLength, type InputFields } from '../core/json/weigh.ts'

/** Weighs the input of a chat request. */
export const INPUT_FIELDS: InputFields = {
  conversation: ['messages'],
  schemas: ['tools', 'functions', 'response_format'],
  tools: ['tools', 'functions'],
  labels: new Set(['role', 'type', 'id', 'tool_call_id', 'file_id', 'detail', 'format']),
  weighWhole(part, scale) {
    if (part.type === 'image_url' && 'image_url' in part) {
      scale.size.images++
      return true
    }
    if (part.type === 'input_audio' && isRecord(part.input_audio)) {
      scale.size.audioBytes += decodedLength(part.input_audio.data)
      return true
    }
    if (part.type === 'file' && isRecord(part.file)) {
      scale.size.fileBytes += decodedLength(part.file.file_data)
      scale.add(part.file.filename)
      return true
    }
    return false
  },
}
