/** Reads chat streams strictly, and reports every violation of the interface. */
import assert from 'node:assert/strict'
import { isRecord } from '../../../proxy/dialects/core/json/value.ts'

export interface ChatCall {
  id: string
  type: string
  name: string
  /** Arguments of a function, input of a custom tool. */
  input: string
}

/** The content of a stream as a plain answer. */
export interface ChatCompletion {
  id: string
  object: 'chat.completion'
  created: number
  model: string
  choices: { index: 0; message: Record<string, unknown>; finish_reason: string }[]
  usage?: Record<string, unknown>
}

const REASONS = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call']

/** Whether the client requested usage. `unknown`: it did, but the upstream sent none. */
export type UsageAsked = 'no' | 'yes' | 'unknown'

/** Throws at the first violation. */
export function readChatStream(text: string, usage: UsageAsked = 'no'): ChatCompletion {
  return new StrictChat(usage).read(text)
}

/** The texts of `data:`; any other line but comments, or an event without its empty line, is refused. */
function dataOf(text: string): string[] {
  assert(text === '' || text.endsWith('\n\n'), 'the last event lacks its empty line')
  const events = text.split('\n\n').slice(0, -1)
  return events.flatMap((event) => {
    const lines = event.split('\n').filter((line) => !line.startsWith(':'))
    if (lines.length === 0) return []
    assert.equal(lines.length, 1, `an event of several lines: ${event}`)
    const [line = ''] = lines
    assert(line.startsWith('data: '), `a line that is no data: ${line}`)
    return [line.slice('data: '.length)]
  })
}

class StrictChat {
  readonly #usageAsked: UsageAsked
  #head: { id: string; created: number; model: string } | undefined
  #content: string | null = null
  #refusal: string | null = null
  #reasoning = ''
  readonly #details: unknown[] = []
  readonly #annotations: unknown[] = []
  readonly #calls: ChatCall[] = []
  #roleSeen = false
  #finish: string | undefined
  #usage: Record<string, unknown> | undefined

  constructor(usageAsked: UsageAsked) {
    this.#usageAsked = usageAsked
  }

  read(text: string): ChatCompletion {
    const data = dataOf(text)
    assert.equal(data.at(-1), '[DONE]', 'the stream does not end with [DONE]')
    for (const item of data.slice(0, -1)) {
      assert.notEqual(item, '[DONE]', '[DONE] in the middle')
      const chunk: unknown = JSON.parse(item)
      assert(isRecord(chunk), 'a chunk that is no object')
      assert(!('error' in chunk), `an error event: ${item}`)
      this.#chunk(chunk)
    }
    assert(this.#finish !== undefined, 'missing finish_reason')
    assert.equal(this.#usage !== undefined, this.#usageAsked === 'yes', 'usage event, wanted or not')
    assert(this.#head !== undefined)
    return this.#answer(this.#head, this.#finish)
  }

  #chunk(chunk: Record<string, unknown>): void {
    const { id, object, created, model, choices } = chunk
    assert.equal(object, 'chat.completion.chunk')
    assert(typeof id === 'string' && id !== '', 'id')
    assert(typeof created === 'number' && Number.isInteger(created), 'created')
    assert(typeof model === 'string', 'model')
    this.#head ??= { id, created, model }
    assert.deepEqual({ id, created, model }, this.#head, 'id, created and model change')
    assert(Array.isArray(choices), 'choices')
    assert.equal(this.#usage, undefined, 'a chunk after the usage event')
    if (choices.length === 0) {
      assert(this.#finish !== undefined, 'usage event ahead of the finish')
      assert(isRecord(chunk.usage), 'an event without choice and usage')
      this.#usage = chunk.usage
      return
    }
    // If usage is requested, all chunks before it have null; otherwise they lack the field.
    assert.equal(chunk.usage, this.#usageAsked === 'no' ? undefined : null, 'usage of a chunk')
    assert.equal(choices.length, 1, 'more than one choice')
    const choice: unknown = choices[0]
    assert(isRecord(choice), 'choice')
    assert.equal(choice.index, 0)
    assert('finish_reason' in choice, 'finish_reason is absent')
    assert(isRecord(choice.delta), 'delta')
    this.#choice(choice.delta, choice.finish_reason)
  }

  #choice(delta: Record<string, unknown>, finish: unknown): void {
    assert.equal(this.#finish, undefined, 'a delta after the finish')
    if (!this.#roleSeen) {
      assert.equal(delta.role, 'assistant', 'the first delta names the role')
      this.#roleSeen = true
    } else assert(!('role' in delta), 'the role is repeated')
    if (finish !== null) {
      assert(typeof finish === 'string' && REASONS.includes(finish), `finish_reason ${finish}`)
      const { refusal, ...rest } = delta
      assert.deepEqual(rest, {}, 'content in the chunk of the finish')
      if (typeof refusal === 'string') this.#refusal = (this.#refusal ?? '') + refusal
      this.#finish = finish
      return
    }
    this.#delta(delta)
  }

  #delta(delta: Record<string, unknown>): void {
    if (typeof delta.content === 'string') this.#content = (this.#content ?? '') + delta.content
    if (typeof delta.refusal === 'string') this.#refusal = (this.#refusal ?? '') + delta.refusal
    if (typeof delta.reasoning_content === 'string') this.#reasoning += delta.reasoning_content
    if (Array.isArray(delta.reasoning_details)) this.#details.push(...delta.reasoning_details)
    if (Array.isArray(delta.annotations)) this.#annotations.push(...delta.annotations)
    if (delta.tool_calls === undefined) return
    assert(Array.isArray(delta.tool_calls), 'tool_calls')
    for (const call of delta.tool_calls) this.#call(call)
  }

  #call(value: unknown): void {
    assert(isRecord(value), 'tool call')
    const { index, id, type } = value
    assert(typeof index === 'number', 'index of a tool call')
    assert(index >= 0 && index <= this.#calls.length, `tool index ${index}, ${this.#calls.length} are open`)
    const known = this.#calls[index]
    if (known === undefined) {
      assert(typeof id === 'string' && id !== '', 'a new tool call has an id')
      assert(type === 'function' || type === 'custom', 'a new tool call has a type')
      const inner = value[type]
      assert(isRecord(inner), 'a new tool call has its function')
      const input = type === 'function' ? inner.arguments : inner.input
      assert(typeof inner.name === 'string' && inner.name !== '', 'a new tool call has a name')
      assert(typeof input === 'string', 'a new tool call has arguments')
      this.#calls.push({ id, type, name: inner.name, input })
      return
    }
    assert(!('id' in value) && !('type' in value), 'id and type of a tool call are repeated')
    const inner = value[known.type]
    assert(isRecord(inner) && !('name' in inner), 'the name of a tool call is repeated')
    const input = known.type === 'function' ? inner.arguments : inner.input
    assert(typeof input === 'string', 'a delta of a tool call')
    known.input += input
  }

  #answer(head: { id: string; created: number; model: string }, finish: string): ChatCompletion {
    const calls = this.#calls.map(({ id, type, name, input }) =>
      type === 'function'
        ? { id, type, function: { name, arguments: input } }
        : { id, type, custom: { name, input } },
    )
    // A limit or a filter may end an answer after calls, or in the middle of one.
    const isCut = calls.length > 0 && (finish === 'length' || finish === 'content_filter')
    assert(isCut || calls.length > 0 === (finish === 'tool_calls'), `${finish} beside ${calls.length} calls`)
    const message = {
      role: 'assistant',
      content: this.#content,
      refusal: this.#refusal,
      ...(this.#reasoning === '' ? {} : { reasoning_content: this.#reasoning }),
      ...(this.#details.length === 0 ? {} : { reasoning_details: this.#details }),
      ...(this.#annotations.length === 0 ? {} : { annotations: this.#annotations }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    }
    return {
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: finish }],
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
    }
  }
}
