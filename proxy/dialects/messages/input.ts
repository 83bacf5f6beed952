import { textWeight } from '../../../contract/text.ts'
import { isRecord } from '../core/json/value.ts'
import { decodedLength, type InputFields } from '../core/json/weigh.ts'

/** Weighs the input of a messages request. */
export const INPUT_FIELDS: InputFields = {
  conversation: ['messages', 'system'],
  schemas: ['tools', 'output_config', 'output_format'],
  tools: ['tools'],
  labels: new Set(['role', 'type', 'id', 'tool_use_id', 'file_id', 'media_type', 'cache_control', 'url']),
  weighWhole(block, scale) {
    if (block.type === 'image' && 'source' in block) {
      scale.size.images++
      return true
    }
    if (block.type === 'base64' && typeof block.data === 'string') {
      scale.size.fileBytes += decodedLength(block.data)
      return true
    }
    if (block.type === 'text' && typeof block.data === 'string') {
      scale.add(block.data)
      return true
    }
    // The model reads the input of a tool as JSON.
    if (typeof block.type === 'string' && block.type.endsWith('tool_use') && isRecord(block.input)) {
      scale.size.textBytes += textWeight(JSON.stringify(block.input))
      scale.add(block.name)
      return true
    }
    return false
  },
}
