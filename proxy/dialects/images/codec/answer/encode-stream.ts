/** Writes the events of a stream of images. */
import type { Usage } from '../../../../../contract/usage.ts'
import type { GatewayError, UpstreamFailure } from '../../../../errors.ts'
import type { ClientView, StreamEncoder } from '../../../core/codec.ts'
import type { ImagePart, Making, StreamPart } from '../../../core/neutral/types.ts'
import { type EventFamily, errorText, eventText } from '../../events.ts'
import { typeOf } from '../../image-type.ts'
import { writeUsage } from '../../usage.ts'
import type * as wire from '../../wire.ts'
import { noImage, writeSource } from './image-fields.ts'

export class ImagesStreamEncoder implements StreamEncoder {
  failure: UpstreamFailure | undefined
  readonly #events: EventFamily
  readonly #client: ClientView
  /** Held until the end, because the event of the last image contains the usage. */
  readonly #images: ImagePart[] = []
  #refused = false
  #out = ''

  constructor(client: ClientView, events: EventFamily) {
    this.#client = client
    this.#events = events
  }

  part(part: StreamPart): void {
    switch (part.type) {
      case 'partial-image': {
        const { base64, index, made = {} } = part
        const image: Partial<wire.Event> = { b64_json: base64, partial_image_index: index }
        this.#out += eventText(`${this.#events}.partial_image`, { ...image, ...this.#details(base64, made) })
        break
      }
      case 'whole':
        if (part.part.type === 'image' && part.part.source.kind !== 'id') this.#images.push(part.part)
        break
      case 'refusal-start':
        this.#refused = true
        break
      case 'finish':
        this.#finish(part.finish.reason === 'content-filter', part.usage)
    }
  }

  take(): string {
    const out = this.#out
    this.#out = ''
    return out
  }

  error(error: GatewayError): string {
    return errorText(error)
  }

  #finish(filtered: boolean, usage: Usage | undefined): void {
    const images = this.#images
    if (images.length === 0) this.failure = noImage(filtered || this.#refused)
    images.forEach(({ source, made = {} }, i) => {
      const base64 = source.kind === 'data' ? source.base64 : ''
      const isLast = i === images.length - 1
      const textOnly = this.#client.parsed.head.input.images === 0
      const all = isLast && usage ? writeUsage(usage, textOnly) : undefined
      const event = { ...writeSource(source), ...this.#details(base64, made, all) }
      this.#out += eventText(`${this.#events}.completed`, event)
    })
  }

  /** With values for the required fields that the upstream does not send. */
  #details(base64: string, made: Making, usage?: wire.Usage): wire.Event {
    const type = typeOf(base64)?.mediaType.replace('image/', '') ?? 'png'
    return {
      created_at: this.#client.created,
      size: made.size ?? 'auto',
      quality: made.quality ?? 'auto',
      background: made.background ?? 'auto',
      output_format: made.format ?? type,
      usage,
    }
  }
}
