/** Follows the events of one output item of a responses stream. */
import assert from 'node:assert/strict'
import { isRecord } from '../../../proxy/dialects/core/json/value.ts'

type Json = Record<string, unknown>

/** An item's fields before its first delta. */
const SKELETONS: Record<string, Json> = {
  message: { content: [] },
  reasoning: { summary: [] },
  function_call: { arguments: '' },
  custom_tool_call: { input: '' },
}
/** Progress events of items that the vendor runs. */
const HOSTED =
  /^response\.(?:\w+_call(?:_code|_arguments|_command)?|mcp_list_tools|compaction)\.(?:in_progress|searching|interpreting|generating|partial_image|completed|failed|compacting|delta|done)$/

/** A content part or a summary part. */
interface Open {
  part: Json
  index: number
  list: 'content' | 'summary'
  text: string
  logprobs: unknown[]
  annotations: unknown[]
  /** The `.done` event with the whole text has arrived. */
  done: boolean
}

export class StrictItem {
  readonly id: string
  final: Json | undefined
  readonly #type: string
  readonly #item: Json
  readonly #lists: { content: Json[]; summary: Json[] } = { content: [], summary: [] }
  #open: Open | undefined
  /** The input of a call. */
  #input = ''
  #inputDone = false

  constructor(item: unknown) {
    assert(isRecord(item), 'an added item is not an object')
    const { id, type } = item
    assert(typeof id === 'string' && id !== '', 'an item has no id')
    assert(typeof type === 'string', 'an item has no type')
    this.id = id
    this.#type = type
    this.#item = item
    for (const [field, empty] of Object.entries(SKELETONS[type] ?? {})) {
      assert.deepEqual(item[field], empty, `${field} of an added ${type}`)
    }
    if (type in SKELETONS && 'status' in item) assert.equal(item.status, 'in_progress', 'status when added')
    if (type === 'message') assert.equal(item.role, 'assistant', 'role')
    if (isCall(type)) assert(item.call_id && item.name, 'a call without call_id or name')
  }

  event(name: string, event: Json): void {
    assert(this.final === undefined, `${name} after the item was done`)
    if (name === 'response.output_item.done') {
      this.#finish(event.item)
      return
    }
    assert.equal(event.item_id, this.id, `${name}: item_id`)
    switch (this.#type) {
      case 'message':
      case 'reasoning':
        this.#partEvent(name, event)
        break
      case 'function_call':
        this.#inputEvent(name, 'response.function_call_arguments', event, event.arguments)
        break
      case 'custom_tool_call':
        this.#inputEvent(name, 'response.custom_tool_call_input', event, event.input)
        break
      default:
        assert(HOSTED.test(name), `${name} for an item of type ${this.#type}`)
    }
  }

  /** A call in which the response ended has no end; the output marks it as incomplete. */
  cut(output: unknown): void {
    if (this.final !== undefined || !isCall(this.#type) || this.#inputDone || !Array.isArray(output)) return
    const last: unknown = output.at(-1)
    if (!isRecord(last) || last.id !== this.id) return
    assert.equal(last.status, 'incomplete', 'status of a call that was cut')
    this.#inputDone = true
    this.#finish(last)
  }

  #partEvent(name: string, event: Json): void {
    switch (name) {
      case 'response.content_part.added':
        this.#openPart('content', event.content_index, event.part)
        break
      case 'response.reasoning_summary_part.added':
        this.#openPart('summary', event.summary_index, event.part)
        break
      case 'response.output_text.delta':
        this.#delta(this.#part(event, 'output_text'), event)
        break
      case 'response.refusal.delta':
        this.#delta(this.#part(event, 'refusal'), event)
        break
      case 'response.reasoning_text.delta':
        this.#delta(this.#part(event, 'reasoning_text'), event)
        break
      case 'response.reasoning_summary_text.delta':
        this.#delta(this.#part(event, 'summary_text'), event)
        break
      case 'response.output_text.annotation.added':
        this.#annotation(this.#part(event, 'output_text'), event)
        break
      case 'response.output_text.done':
        this.#textDone(this.#part(event, 'output_text'), event.text)
        break
      case 'response.refusal.done':
        this.#textDone(this.#part(event, 'refusal'), event.refusal)
        break
      case 'response.reasoning_text.done':
        this.#textDone(this.#part(event, 'reasoning_text'), event.text)
        break
      case 'response.reasoning_summary_text.done':
        this.#textDone(this.#part(event, 'summary_text'), event.text)
        break
      case 'response.content_part.done':
        this.#closePart('content', event.content_index, event.part)
        break
      case 'response.reasoning_summary_part.done':
        this.#closePart('summary', event.summary_index, event.part)
        break
      default:
        assert.fail(`unknown event ${name}`)
    }
  }

  #openPart(list: Open['list'], index: unknown, part: unknown): void {
    assert(this.#open === undefined, 'a part opens in another one')
    assert(isRecord(part), 'an added part is not an object')
    const position = this.#lists[list].length
    assert.equal(index, position, 'index of an added part')
    if (part.type === 'output_text') {
      assert.equal(part.text, '', 'text of an added part')
      assert.deepEqual(part.annotations, [], 'annotations of an added part')
    }
    this.#open = { part, index: position, list, text: '', logprobs: [], annotations: [], done: false }
  }

  #part(event: Json, type: string): Open {
    const open = this.#open
    assert(open !== undefined && open.part.type === type, `${String(event.type)} without its part`)
    assert.equal(event[open.list === 'content' ? 'content_index' : 'summary_index'], open.index, 'part index')
    assert(!open.done, `${String(event.type)} after the text was done`)
    return open
  }

  #delta(open: Open, event: Json): void {
    assert.equal(typeof event.delta, 'string', 'delta')
    open.text += String(event.delta)
    if (open.part.type !== 'output_text') return
    assert(Array.isArray(event.logprobs), 'logprobs of a text delta')
    open.logprobs.push(...event.logprobs)
  }

  #annotation(open: Open, event: Json): void {
    assert.equal(event.annotation_index, open.annotations.length, 'annotation_index')
    open.annotations.push(event.annotation)
  }

  #textDone(open: Open, text: unknown): void {
    assert.equal(text, open.text, 'the whole text is not the sum of its deltas')
    open.done = true
  }

  #closePart(list: Open['list'], index: unknown, part: unknown): void {
    const open = this.#open
    assert(open !== undefined && open.list === list && open.index === index, 'a part ends that is not open')
    assert(isRecord(part) && part.type === open.part.type, 'a part ends as another type')
    const isText = ['output_text', 'refusal', 'reasoning_text', 'summary_text'].includes(String(part.type))
    if (isText) {
      assert(open.done, 'a part ends before its text')
      assert.equal(part.type === 'refusal' ? part.refusal : part.text, open.text, 'text of the whole part')
    }
    if (part.type === 'output_text') {
      assert.deepEqual(part.annotations ?? [], open.annotations, 'annotations of the whole part')
      if (open.logprobs.length > 0) assert.deepEqual(part.logprobs, open.logprobs, 'logprobs')
    }
    this.#lists[list].push(part)
    this.#open = undefined
  }

  #inputEvent(name: string, family: string, event: Json, whole: unknown): void {
    assert(!this.#inputDone, `${name} after the input was done`)
    if (name === `${family}.delta`) {
      assert.equal(typeof event.delta, 'string', 'delta')
      this.#input += String(event.delta)
      return
    }
    assert.equal(name, `${family}.done`, 'event of a call')
    assert.equal(whole, this.#input, 'the whole input is not the sum of its deltas')
    this.#inputDone = true
  }

  #finish(item: unknown): void {
    assert(this.#open === undefined, 'an item ends before its part')
    assert(isRecord(item), 'a done item is not an object')
    assert.deepEqual([item.id, item.type], [this.id, this.#type], 'id and type of a done item')
    assert.notEqual(item.status, 'in_progress', 'status of a done item')
    if (this.#type === 'message') assert.deepEqual(item.content, this.#lists.content, 'content of a message')
    if (this.#type === 'reasoning') {
      assert.deepEqual(item.summary ?? [], this.#lists.summary, 'summary of reasoning')
      assert.deepEqual(item.content ?? [], this.#lists.content, 'content of reasoning')
    }
    if (isCall(this.#type)) {
      assert(this.#inputDone, 'a call ends before its input')
      const { call_id, name } = this.#item
      assert.deepEqual([item.call_id, item.name], [call_id, name], 'call_id and name of a done call')
      const input = this.#type === 'function_call' ? item.arguments : item.input
      assert.equal(input, this.#input, 'input of a call')
    }
    this.final = item
  }
}

function isCall(type: string): boolean {
  return type === 'function_call' || type === 'custom_tool_call'
}
