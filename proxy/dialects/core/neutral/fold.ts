/** Collects the parts of a stream into the whole answer. */
import type { AssistantPart, ModelAnswer, ReasoningPart, StreamPart } from './types.ts'

/** Later paragraphs are joined: without a bound, an upstream's number could make an array of any length. */
const MAX_PARAGRAPHS = 1000

/** Takes the parts of one stream as they arrive. */
export class Folder {
  readonly #parts: AssistantPart[] = []
  readonly #byId = new Map<string, AssistantPart>()
  #answer: ModelAnswer | undefined

  part(p: StreamPart): void {
    switch (p.type) {
      case 'start':
        break
      case 'text-start':
        this.#open(p.id, { type: 'text', text: '' })
        break
      case 'refusal-start':
        this.#open(p.id, { type: 'refusal', text: '' })
        break
      case 'reasoning-start': {
        const part: ReasoningPart = { type: 'reasoning', texts: [] }
        if (p.raw !== undefined) part.raw = p.raw
        this.#open(p.id, part)
        break
      }
      case 'tool-call-start': {
        const { id, type: _type, ...call } = p
        this.#open(id, { type: 'tool-call', ...call, input: '' })
        break
      }
      case 'whole':
        this.#parts.push(p.part)
        break
      case 'finish': {
        const { type: _type, ...end } = p
        this.#answer = { parts: this.#parts, ...end }
        break
      }
      default:
        this.#into(this.#byId.get(p.id), p)
    }
  }

  /** The answer; undefined until the stream has finished. */
  answer(): ModelAnswer | undefined {
    return this.#answer
  }

  #open(id: string, part: AssistantPart): void {
    this.#parts.push(part)
    this.#byId.set(id, part)
  }

  /** Adds a delta or an end. Ignores those of a part that never started, or of another type. */
  #into(part: AssistantPart | undefined, p: StreamPart): void {
    if (part === undefined) return
    switch (p.type) {
      case 'text-delta':
        if (part.type !== 'text') return
        part.text += p.text
        if (p.logprobs === undefined) return
        part.logprobs ??= []
        for (const token of p.logprobs) part.logprobs.push(token)
        return
      case 'annotation':
        if (part.type !== 'text') return
        part.annotations ??= []
        part.annotations.push(p.annotation)
        return
      case 'refusal-delta':
        if (part.type === 'refusal') part.text += p.text
        return
      case 'reasoning-delta':
        if (part.type !== 'reasoning') return
        addParagraph(part.texts, p.paragraph, p.text)
        return
      case 'tool-call-delta':
        if (part.type === 'tool-call') part.input += p.text
        return
      case 'reasoning-end':
      case 'tool-call-end':
        if (p.carrier !== undefined && (part.type === 'reasoning' || part.type === 'tool-call')) {
          part.carrier = p.carrier
        }
        if (p.type === 'tool-call-end' && p.cut && part.type === 'tool-call') part.cut = true
    }
  }
}

/** The answer in the parts of a whole stream; undefined when they have no finish. */
export function fold(parts: Iterable<StreamPart>): ModelAnswer | undefined {
  const folder = new Folder()
  for (const part of parts) folder.part(part)
  return folder.answer()
}

function addParagraph(texts: string[], paragraph: number, text: string): void {
  const index = Math.min(paragraph, MAX_PARAGRAPHS - 1)
  while (texts.length <= index) texts.push('')
  texts[index] += text
}
