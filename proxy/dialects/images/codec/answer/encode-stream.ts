/** Writes the events of a stream of pictures. */
import type { Usage } from '../../../../../contract/usage.ts'
import type { GatewayError, UpstreamFailure } from '../../../../errors.ts'
import type { ClientView, StreamEncoder } from '../../../core/dialect.ts'
import type { Fields } from '../../../core/json/value.ts'
import type { ImagePart, Making, StreamPart } from '../../../core/neutral/types.ts'
import { type EventFamily, errorText, eventText } from '../../events.ts'
import { typeOf } from '../../pictures.ts'
import { writeUsage } from '../../usage.ts'
import { noPicture, writeMaking, writeSource } from './picture.ts'

/** What its clients find in each event, where the upstream does not tell. */
const UNKNOWN: Fields = { size: 'auto', quality: 'auto', background: 'auto' }

export class ImagesStreamEncoder implements StreamEncoder {
  failure: UpstreamFailure | undefined
  readonly #events: EventFamily
  readonly #client: ClientView
  /** They wait for the end: the last one tells the usage. */
  readonly #pictures: ImagePart[] = []
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
        const at = { partial_image_index: index }
        this.#event('partial_image', { b64_json: base64, ...at, ...this.#about(base64, made) })
        break
      }
      case 'whole':
        if (part.part.type === 'image' && part.part.source.kind !== 'id') this.#pictures.push(part.part)
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
    const pictures = this.#pictures
    if (pictures.length === 0) this.failure = noPicture(filtered || this.#refused)
    pictures.forEach(({ source, made = {} }, i) => {
      const base64 = source.kind === 'data' ? source.base64 : ''
      const isLast = i === pictures.length - 1
      const textOnly = this.#client.parsed.head.input.images === 0
      this.#event('completed', {
        ...writeSource(source),
        ...this.#about(base64, made),
        ...(isLast && usage && { usage: writeUsage(usage, textOnly) }),
      })
    })
  }

  #about(base64: string, made: Making): Fields {
    const type = typeOf(base64)?.mediaType.replace('image/', '') ?? 'png'
    return { created_at: this.#client.created, ...UNKNOWN, output_format: type, ...writeMaking(made) }
  }

  #event(name: string, fields: Fields): void {
    this.#out += eventText(`${this.#events}.${name}`, fields)
  }
}
