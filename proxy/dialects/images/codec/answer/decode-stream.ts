/** Reads the events of a stream of images. */
import type { Usage } from '../../../../../contract/usage.ts'
import type { UpstreamFailure } from '../../../../errors.ts'
import type { StreamDecoder } from '../../../core/codec.ts'
import { readFailure } from '../../../core/errors/read.ts'
import { type Fields, isRecord, tryParse } from '../../../core/json/value.ts'
import type { Emit } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { readMaking } from '../../../openai/fields.ts'
import { isCompleted, isPartial } from '../../events.ts'
import { addUsage, readUsage } from '../../usage.ts'
import { readImage } from './image-fields.ts'

export class ImagesDecoder implements StreamDecoder {
  failure: UpstreamFailure | undefined
  readonly #emit: Emit
  readonly #request: ParsedRequest
  #started = false
  #completed = 0
  /** True after a partial image without a completed one. */
  #isPending = false
  #usage: Usage | undefined

  constructor(emit: Emit, request: ParsedRequest) {
    this.#emit = emit
    this.#request = request
  }

  get finished(): boolean {
    return this.#completed > 0 && !this.#isPending && this.failure === undefined
  }

  get done(): boolean {
    return this.failure !== undefined || this.#completed >= (this.#request.head.images ?? 1)
  }

  event(name: string, data: string): void {
    const value = tryParse(data)
    if (this.done || !isRecord(value)) return
    const type = typeof value.type === 'string' ? value.type : name
    if (type === 'error' || value.error) {
      this.failure = readFailure(value, this.#request, 'error_event')
    } else if (isPartial(type)) this.#partial(value)
    else if (isCompleted(type)) this.#complete(value)
  }

  end(): void {
    if (!this.finished) return
    const usage = this.#usage
    this.#emit({ type: 'finish', finish: { reason: 'stop' }, ...(usage && { usage }) })
  }

  #partial(event: Fields): void {
    const { b64_json: base64, partial_image_index: index } = event
    if (typeof base64 !== 'string' || typeof index !== 'number') return
    this.#start()
    this.#isPending = true
    const made = readMaking({}, event)
    this.#emit({ type: 'partial-image', id: String(this.#completed), index, base64, made })
  }

  #complete(event: Fields): void {
    const part = readImage(event, event)
    if (part === undefined) return
    this.#start()
    this.#emit({ type: 'whole', id: String(this.#completed), part })
    this.#completed++
    this.#isPending = false
    this.#usage = addUsage(this.#usage, readUsage(event.usage, 1))
  }

  #start(): void {
    if (!this.#started) this.#emit({ type: 'start' })
    this.#started = true
  }
}
