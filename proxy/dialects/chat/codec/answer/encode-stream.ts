/** Writes an answer as the chunks of a client's stream. */
import type { Usage } from '../../../../../contract/usage.ts'
import type { GatewayError } from '../../../../errors.ts'
import type { ClientView, StreamEncoder } from '../../../core/codec.ts'
import { markdownImage } from '../../../core/neutral/media.ts'
import type { TypedField } from '../../../core/neutral/typed-field.ts'
import type { Annotation, Finish, ImagePart, PartOf, StreamPart } from '../../../core/neutral/types.ts'
import { errorText } from '../../error.ts'
import { writeUsage } from '../../usage.ts'
import type * as wire from '../../wire.ts'
import { detailsOf, PARAGRAPH } from '../reasoning.ts'
import { isLegacy } from '../request/tools.ts'
import { writeAnnotation } from './annotations.ts'
import { writeImage } from './answer-parts.ts'
import { extraOf } from './call-body.ts'
import { writeFinish } from './finish.ts'

interface Call {
  /** A chunk before the text of its arguments, and after it. */
  before: string
  after: string
  empty: boolean
  kind: 'function' | 'custom'
  index: number
}

const DONE = 'data: [DONE]\n\n'

export class ChatStreamEncoder implements StreamEncoder {
  readonly #client: ClientView
  readonly #legacy: boolean
  readonly #wantsUsage: boolean
  #out = ''
  /** A chunk before its delta, and after it: most chunks differ in the delta alone. */
  #head = ''
  #tail = ''
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
  #details: wire.Detail[] = []
  #detailsWritten = 0
  /** The entries come from a chat upstream and keep its indexes. */
  #ownDetails = false
  readonly #annotations: wire.AnyAnnotation[] = []
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

  #start({ usage }: PartOf<'start'>): void {
    this.#usage = usage
    const chunk = this.#chunk([{ index: 0, delta: {}, logprobs: null, finish_reason: null }])
    // The quotes of a text are escaped, so a model's name cannot contain this.
    const at = chunk.indexOf('"delta":{}') + '"delta":'.length
    this.#head = chunk.slice(0, at)
    this.#tail = chunk.slice(at + '{}'.length)
    this.#delta({ role: 'assistant', content: '', refusal: null })
  }

  #chunk(choices: wire.Chunk['choices'], service_tier?: string, counted?: wire.Usage): string {
    const { created, request } = this.#client
    const usage = counted ?? (this.#wantsUsage ? null : undefined)
    const id = `chatcmpl-${this.#client.id}`
    const object = 'chat.completion.chunk'
    const chunk: wire.Chunk = { id, object, created, model: request.model, choices, service_tier, usage }
    return `data: ${JSON.stringify(chunk)}\n\n`
  }

  #delta(delta: wire.Delta): void {
    this.#out += this.#head + JSON.stringify(delta) + this.#tail
  }

  #field(name: keyof wire.Delta, text: string): void {
    this.#out += `${this.#head}{"${name}":${JSON.stringify(text)}}${this.#tail}`
  }

  #withLogprobs(text: string, content: unknown[]): void {
    const logprobs: wire.Logprobs = { content, refusal: null }
    this.#out += this.#chunk([{ index: 0, delta: { content: text }, logprobs, finish_reason: null }])
  }

  #think({ id, text, paragraph }: PartOf<'reasoning-delta'>): void {
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

  #endThought({ carrier }: PartOf<'reasoning-end'>): void {
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
    const at = (i: number): wire.Indexed => ({ index: first + i })
    const written = isAlone || this.#ownDetails ? details : details.map((d, i) => ({ ...at(i), ...d }))
    this.#delta({ reasoning_details: written })
  }

  #startCall({ id, callId, name, kind }: PartOf<'tool-call-start'>): void {
    this.#writeDetails()
    const index = this.#calls.size
    if (this.#legacy) {
      this.#calls.set(id, { ...around({ function_call: { arguments: '' } }), empty: true, kind, index })
      // A client with `functions` takes one call.
      if (index === 0) this.#delta({ function_call: { name, arguments: '' } })
      else this.#lose('tools')
      return
    }
    const isFunction = kind === 'function'
    const more: wire.CallDelta = isFunction
      ? { index, function: { arguments: '' } }
      : { index, custom: { input: '' } }
    this.#calls.set(id, { ...around({ tool_calls: [more] }), empty: true, kind, index })
    const first: wire.CallDelta = isFunction
      ? { index, id: callId, type: kind, function: { name, arguments: '' } }
      : { index, id: callId, type: kind, custom: { name, input: '' } }
    this.#delta({ tool_calls: [first] })
  }

  #callDelta({ id, text }: PartOf<'tool-call-delta'>): void {
    const call = this.#calls.get(id)
    if (call === undefined || text === '') return
    call.empty = false
    if (this.#legacy && call.index > 0) return
    this.#out += this.#head + call.before + JSON.stringify(text) + call.after + this.#tail
  }

  /** Clients parse empty arguments too, so they become an object, but not those of a cut call. */
  #endCall({ id, carrier, cut }: PartOf<'tool-call-end'>): void {
    const call = this.#calls.get(id)
    if (call === undefined || cut) return
    if (call.empty && call.kind === 'function') this.#callDelta({ type: 'tool-call-delta', id, text: '{}' })
    const extra_content = extraOf(carrier)
    if (extra_content !== undefined && !this.#legacy) {
      this.#delta({ tool_calls: [{ index: call.index, extra_content }] })
    }
  }

  #annotate(id: string, annotation: Annotation): void {
    const written = writeAnnotation(annotation, this.#offsets.get(id) ?? 0)
    if (written === undefined) this.#lose('annotations')
    else this.#annotations.push(written)
  }

  #whole({ part }: PartOf<'whole'>): void {
    this.#writeDetails()
    if (part.type !== 'image') this.#lose(part.type)
    else this.#image(part)
  }

  /** Writes Markdown text, which clients without support for images can show. */
  #image(part: ImagePart): void {
    const markdown = markdownImage(part.source, this.#client.request)
    if (markdown === undefined) this.#imageEntry(part)
    else {
      const text = this.#textLength === 0 ? markdown : PARAGRAPH + markdown
      this.#textLength += text.length
      this.#field('content', text)
    }
  }

  /** Writes an entry of `images`, as some chat upstreams do. */
  #imageEntry(part: ImagePart): void {
    const image = writeImage(part, this.#images || undefined)
    if (image === undefined) this.#lose('image')
    else {
      this.#images++
      this.#delta({ images: [image] })
    }
  }

  #finish({ finish, usage = this.#usage, tier }: PartOf<'finish'>): void {
    this.#writeDetails()
    if (this.#annotations.length > 0) this.#delta({ annotations: this.#annotations })
    this.#explain(finish)
    const finish_reason = writeFinish(finish, this.#legacy)
    this.#out += this.#chunk([{ index: 0, delta: {}, logprobs: null, finish_reason }], tier)
    if (this.#wantsUsage && usage !== undefined) this.#out += this.#chunk([], tier, writeUsage(usage))
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

/** The text before and after the empty string in a delta. */
function around(delta: wire.Delta): Pick<Call, 'before' | 'after'> {
  const [before = '', after = ''] = JSON.stringify(delta).split('""')
  return { before, after }
}
