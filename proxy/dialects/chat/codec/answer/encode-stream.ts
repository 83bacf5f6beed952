/** Writes an answer as the chunks of a client's stream. */
import type { Usage } from '../../../../../contract/usage.ts'
import type { GatewayError } from '../../../../errors.ts'
import type { ClientView, StreamEncoder } from '../../../core/codec.ts'
import { type Fields, tryParse } from '../../../core/json/value.ts'
import type { TypedField } from '../../../core/neutral/losses.ts'
import { markdownImage } from '../../../core/neutral/media.ts'
import type { Annotation, Finish, ImagePart, StreamPart } from '../../../core/neutral/types.ts'
import { errorText } from '../../error.ts'
import { writeUsage } from '../../usage.ts'
import { detailsOf, PARAGRAPH } from '../reasoning.ts'
import { isLegacy } from '../request/tools.ts'
import { writeAnnotation } from './annotations.ts'
import { writeImage } from './answer-parts.ts'
import { writeFinish } from './finish.ts'

type Part<T extends StreamPart['type']> = Extract<StreamPart, { type: T }>

interface Call {
  /** A chunk before the text of its arguments, and after it. */
  before: string
  after: string
  empty: boolean
  kind: 'function' | 'custom'
  index: number
}

const DONE = 'data: [DONE]\n\n'
const NO_FINISH = ',"logprobs":null,"finish_reason":null}]'

export class ChatStreamEncoder implements StreamEncoder {
  readonly #client: ClientView
  readonly #legacy: boolean
  readonly #wantsUsage: boolean
  #out = ''
  /** A chunk before its choices. */
  #base = ''
  /** A chunk before its delta. */
  #head = ''
  /** A chunk after its delta, without a finish. */
  #tail = ''
  #usageTail = ''
  #usage: Usage | undefined
  readonly #calls = new Map<string, Call>()
  #textLength = 0
  /** Number of characters before each text part. */
  readonly #offsets = new Map<string, number>()
  #refused = false
  /** Part and index of the last written paragraph. */
  #paragraph: string | undefined
  /** Text of the open reasoning; undefined for the first one, whose text is everything before the second. */
  #thought: string | undefined
  #thoughts = 0
  /**
   * Of a list in several deltas the Node SDK keeps the last, and the Python SDK refuses later entries without an index.
   * So details wait for the end of adjacent reasoning, and annotations for the end of the stream.
   */
  #details: Fields[] = []
  #detailsWritten = 0
  /** The entries come from a chat upstream and keep its indexes. */
  #ownDetails = false
  readonly #annotations: Fields[] = []
  #images = 0

  constructor(client: ClientView) {
    this.#client = client
    this.#legacy = isLegacy(client.request)
    this.#wantsUsage = client.request.wantsStreamUsage === true
  }

  part(part: StreamPart): void {
    switch (part.type) {
      case 'text-delta':
        this.#textLength += part.text.length
        if (part.logprobs === undefined) this.#field('content', part.text)
        else this.#withLogprobs(part.text, part.logprobs)
        break
      case 'tool-call-delta':
        this.#callDelta(part)
        break
      case 'reasoning-delta':
        this.#think(part)
        break
      case 'start':
        this.#start(part)
        break
      case 'text-start':
        this.#writeDetails()
        this.#offsets.set(part.id, this.#textLength)
        break
      case 'refusal-start':
        this.#writeDetails()
        break
      case 'refusal-delta':
        this.#refused = true
        this.#field('refusal', part.text)
        break
      case 'reasoning-start':
        this.#thought = this.#thoughts++ === 0 ? undefined : ''
        break
      case 'reasoning-end':
        this.#endThought(part)
        break
      case 'tool-call-start':
        this.#startCall(part)
        break
      case 'tool-call-end':
        this.#endCall(part)
        break
      case 'annotation':
        this.#annotate(part.id, part.annotation)
        break
      case 'whole':
        this.#whole(part)
        break
      case 'finish':
        this.#finish(part)
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

  #start({ usage }: Part<'start'>): void {
    const { id, created, request } = this.#client
    const object = 'chat.completion.chunk'
    const fields = { id: `chatcmpl-${id}`, object, created, model: request.model }
    this.#usage = usage
    this.#base = `data: ${JSON.stringify(fields).slice(0, -1)},"choices":`
    this.#head = `${this.#base}[{"index":0,"delta":`
    this.#usageTail = `${this.#wantsUsage ? ',"usage":null' : ''}}\n\n`
    this.#tail = NO_FINISH + this.#usageTail
    this.#delta('{"role":"assistant","content":"","refusal":null}')
  }

  /** @param json the delta. */
  #delta(json: string): void {
    this.#out += this.#head + json + this.#tail
  }

  #field(name: string, text: string): void {
    this.#out += `${this.#head}{"${name}":${JSON.stringify(text)}}${this.#tail}`
  }

  #withLogprobs(text: string, content: unknown[]): void {
    const logprobs = JSON.stringify({ content, refusal: null })
    this.#out += `${this.#head}{"content":${JSON.stringify(text)}},"logprobs":${logprobs},"finish_reason":null}]${this.#usageTail}`
  }

  #think({ id, text, paragraph }: Part<'reasoning-delta'>): void {
    if (text === '') return
    const here = `${id} ${paragraph}`
    if (this.#paragraph !== here) {
      if (this.#paragraph !== undefined) {
        this.#field('reasoning_content', PARAGRAPH)
        if (this.#thought) this.#thought += PARAGRAPH
      }
      this.#paragraph = here
    }
    if (this.#thought !== undefined) this.#thought += text
    this.#field('reasoning_content', text)
  }

  #endThought({ carrier }: Part<'reasoning-end'>): void {
    if (carrier === undefined) return
    this.#details.push(...detailsOf(carrier, this.#thought || undefined, this.#client.envelopes))
    this.#ownDetails = carrier.dialect === 'chat'
  }

  #writeDetails(): void {
    if (this.#details.length === 0) return
    const details = this.#details
    this.#details = []
    const first = this.#detailsWritten
    this.#detailsWritten += details.length
    const isAlone = this.#detailsWritten === 1
    const written =
      isAlone || this.#ownDetails ? details : details.map((d, i) => ({ index: first + i, ...d }))
    this.#delta(JSON.stringify({ reasoning_details: written }))
  }

  #startCall({ id, callId, name, kind }: Part<'tool-call-start'>): void {
    this.#writeDetails()
    const index = this.#calls.size
    const field = kind === 'function' ? 'arguments' : 'input'
    const body = { name, [field]: '' }
    if (this.#legacy) {
      const call = { before: '{"function_call":{"arguments":', after: '}}', empty: true, kind, index }
      this.#calls.set(id, call)
      // A client with `functions` takes one call.
      if (index === 0) this.#delta(JSON.stringify({ function_call: { name, arguments: '' } }))
      else this.#lose('tools')
      return
    }
    const before = `{"tool_calls":[{"index":${index},"${kind}":{"${field}":`
    this.#calls.set(id, { before, after: '}}]}', empty: true, kind, index })
    this.#delta(JSON.stringify({ tool_calls: [{ index, id: callId, type: kind, [kind]: body }] }))
  }

  #callDelta({ id, text }: Part<'tool-call-delta'>): void {
    const call = this.#calls.get(id)
    if (call === undefined || text === '') return
    call.empty = false
    if (this.#legacy && call.index > 0) return
    this.#out += this.#head + call.before + JSON.stringify(text) + call.after + this.#tail
  }

  /** Clients parse empty arguments too, so they become an object, but not those of a cut call. */
  #endCall({ id, carrier, cut }: Part<'tool-call-end'>): void {
    const call = this.#calls.get(id)
    if (call === undefined || cut) return
    if (call.empty && call.kind === 'function') this.#callDelta({ type: 'tool-call-delta', id, text: '{}' })
    const extra = carrier?.kind === 'extra_content' ? tryParse(carrier.value) : undefined
    if (extra !== undefined && !this.#legacy) {
      this.#delta(JSON.stringify({ tool_calls: [{ index: call.index, extra_content: extra }] }))
    }
  }

  #annotate(id: string, annotation: Annotation): void {
    const written = writeAnnotation(annotation, this.#offsets.get(id) ?? 0)
    if (written === undefined) this.#lose('annotations')
    else this.#annotations.push(written)
  }

  #whole({ part }: Part<'whole'>): void {
    this.#writeDetails()
    if (part.type !== 'image') this.#lose(part.type)
    else this.#image(part)
  }

  /** Writes Markdown text, which clients without support for images can show. */
  #image(part: ImagePart): void {
    const markdown = markdownImage(part.source, this.#client.request)
    if (markdown === undefined) {
      this.#imageEntry(part)
      return
    }
    const text = this.#textLength === 0 ? markdown : PARAGRAPH + markdown
    this.#textLength += text.length
    this.#field('content', text)
  }

  /** Writes an entry of `images`, as some chat upstreams do. */
  #imageEntry(part: ImagePart): void {
    const image = writeImage(part)
    if (image === undefined) {
      this.#lose('image')
      return
    }
    const index = this.#images++
    this.#delta(JSON.stringify({ images: [index === 0 ? image : { index, ...image }] }))
  }

  #finish({ finish, usage = this.#usage, tier }: Part<'finish'>): void {
    this.#writeDetails()
    if (this.#annotations.length > 0) this.#delta(JSON.stringify({ annotations: this.#annotations }))
    this.#explain(finish)
    const reason = JSON.stringify(writeFinish(finish, this.#legacy))
    const served = tier === undefined ? '' : `,"service_tier":${JSON.stringify(tier)}`
    this.#out += `${this.#head}{},"logprobs":null,"finish_reason":${reason}}]${served}${this.#usageTail}`
    if (this.#wantsUsage && usage !== undefined) {
      this.#out += `${this.#base}[]${served},"usage":${JSON.stringify(writeUsage(usage))}}\n\n`
    }
    this.#out += DONE
  }

  #explain({ reason, explanation }: Finish): void {
    if (reason === 'content-filter' && explanation !== undefined && !this.#refused) {
      this.#field('refusal', explanation)
    }
  }

  #lose(field: TypedField): void {
    this.#client.losses.lose(field)
  }
}
