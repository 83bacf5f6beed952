/** The events of the images API's streams. */
import type { GatewayError } from '../../errors.ts'
import type { FieldsOf } from '../core/json/wire.ts'
import { openaiErrorBody } from '../openai/error.ts'
import type * as wire from './wire.ts'

/** The prefix of an endpoint's event names. */
export type EventFamily = 'image_generation' | 'image_edit'

export function eventText(type: wire.EventType, fields: FieldsOf<wire.Event>): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}

export function errorText(error: GatewayError): string {
  return `event: error\ndata: ${JSON.stringify(openaiErrorBody(error))}\n\n`
}

export function isPartial(type: string): boolean {
  return type === 'image_generation.partial_image' || type === 'image_edit.partial_image'
}

export function isCompleted(type: string): boolean {
  return type === 'image_generation.completed' || type === 'image_edit.completed'
}
