/** Forwards a form that is too large for memory. It rewrites the form while it arrives, with a random boundary, so that the
 * upstream finds exactly the parts that the gateway checked. Texts that the gateway reads must come before the first file.
 */
import { GatewayError } from '../../../errors.ts'
import type { Fields } from '../../core/json/value.ts'
import type { BodyRest, FormLimits, ParsedRequest, ParsedUpload } from '../../core/request.ts'
import { FieldRules, isFile, mustComeBeforeFiles, readText } from '../fields.ts'
import { multipartType, newBoundary, readBoundary } from '../form/boundary.ts'
import type { PartHead } from '../form/part-head.ts'
import { FormScanner, type FormSink } from '../form/scanner.ts'
import { type Field, fieldStart, formEnd, LINE_END, writeFields } from '../form/write.ts'
import { readHead } from '../head.ts'
import { MAX_IMAGES } from '../image-type.ts'
import type { UploadStart } from '../own.ts'
import { type ContentCheck, contentCheck } from './contents.ts'

/** `prefix`: the bytes that have arrived. Throws GatewayError naming the field. */
export function parseEditUpload(
  prefix: Buffer,
  contentType: string,
  limits: FormLimits,
): ParsedUpload<UploadStart> {
  const boundary = newBoundary()
  const rest = new EditUpload(readBoundary(contentType), boundary, limits)
  const first = rest.push(prefix)
  const { texts } = rest
  if (!rest.hasFile) {
    throw new GatewayError('request_too_large', 'The text fields before the files are too large.')
  }
  const fields = fieldsOf(texts)
  for (const name of ['model', 'prompt']) if (fields[name] === undefined) throw tooLate(name)
  // The number of images is unknown until the form ends.
  const head = readHead(fields, MAX_IMAGES)
  const ended = (images: number) => {
    head.input.images = images
  }
  rest.ended = ended
  const body = writeFields(texts, boundary)
  const request: ParsedRequest<UploadStart> = {
    head,
    body,
    contentType: multipartType(boundary),
    isUpload: true,
    headers: {},
    own: { kind: 'upload', texts, boundary },
  }
  return { request, first, rest }
}

/** The texts before the first file, with another model. */
export function spliceBeginning({ texts, boundary }: UploadStart, model: string): Buffer {
  return writeFields(
    texts.map((text) => (text.name === 'model' ? { ...text, content: model } : text)),
    boundary,
  )
}

function fieldsOf(texts: readonly Field[]): Fields {
  return Object.fromEntries(texts.map(({ name, content }) => [name, readText(name, content.toString())]))
}

function tooLate(name: string): GatewayError {
  const message = `${name} must come before the files: a form of this size must have its text fields first.`
  return new GatewayError('request_too_large', message, { param: name })
}

class EditUpload implements BodyRest, FormSink {
  /** The texts before the first file. */
  readonly texts: Field[] = []
  hasFile = false
  /** Receives the number of images to edit. */
  ended: (images: number) => void = () => undefined
  readonly #scanner: FormScanner
  readonly #rules: FieldRules
  readonly #boundary: string
  /** The current part, and its size so far. */
  #part: PartHead | undefined
  #size = 0
  #check: ContentCheck | undefined
  #out: Buffer[] = []

  /** `boundary`: of the rewritten form. */
  constructor(clientBoundary: string, boundary: string, limits: FormLimits) {
    this.#scanner = new FormScanner(clientBoundary, limits.maxParts, this)
    this.#rules = new FieldRules(limits)
    this.#boundary = boundary
  }

  push(chunk: Buffer): Buffer[] {
    this.#scanner.push(chunk)
    return this.#take()
  }

  end(): Buffer[] {
    this.#scanner.end()
    this.#rules.end()
    this.ended(this.#rules.images)
    this.#out.push(formEnd(this.#boundary))
    return this.#take()
  }

  partStart(head: PartHead): void {
    this.#rules.begin(head)
    if (this.hasFile && mustComeBeforeFiles(head)) throw tooLate(head.name)
    this.hasFile ||= isFile(head)
    this.#check = contentCheck(head)
    this.#part = head
    this.#size = 0
    if (this.hasFile) this.#out.push(fieldStart(head, this.#boundary))
    else this.texts.push({ ...head, content: '' })
  }

  content(bytes: Buffer): void {
    this.#size += bytes.length
    if (this.#part !== undefined) this.#rules.checkSize(this.#part, this.#size)
    this.#check?.push(bytes)
    if (this.hasFile) this.#out.push(bytes)
    else this.#addText(bytes)
  }

  partEnd(): void {
    this.#check?.end()
    if (this.hasFile) this.#out.push(LINE_END)
  }

  /**
   * The prefix contains all texts before the first file, so there is nothing to join. Without a copy, each text would keep
   * the whole prefix in memory.
   */
  #addText(bytes: Buffer): void {
    const text = this.texts.at(-1)
    if (text !== undefined) text.content = Buffer.from(bytes)
  }

  #take(): Buffer[] {
    const out = this.#out
    this.#out = []
    return out
  }
}
