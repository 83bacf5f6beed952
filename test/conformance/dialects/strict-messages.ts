/**
 * Reads messages streams strictly, and reports every violation of the interface.
 */
import assert from 'node:assert/strict'
import { isRecord } from '../../../proxy/dialects/core/json/value.ts'

type Json = Record<string, unknown>

/** The content of a stream as a plain answer. */
export interface Message extends Json {
  content: Json[]
}

const STOP_REASONS = [
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
  'compaction',
]
/** Reasons that may end an answer anywhere. */
const CUTTING = ['max_tokens', 'model_context_window_exceeded', 'refusal']
/** The delta types of a block; other blocks are complete in their start. */
const DELTAS: Record<string, string[]> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  server_tool_use: ['input_json_delta'],
  mcp_tool_use: ['input_json_delta'],
  compaction: ['compaction_delta'],
}

/** Throws at the first violation. */
export function readMessagesStream(text: string): Message {
  const reader = new StrictMessages()
  for (const { event, data } of eventsOf(text)) reader.event(event, data)
  return reader.message()
}

/** Events of one `event:` and one `data:` line each, ended by an empty line; comments are allowed between. */
function eventsOf(text: string): { event: string; data: string }[] {
  assert(text === '' || text.endsWith('\n\n'), 'the last event lacks its empty line')
  return text
    .split('\n\n')
    .slice(0, -1)
    .flatMap((block) => {
      const lines = block.split('\n').filter((line) => !line.startsWith(':'))
      if (lines.length === 0) return []
      assert.equal(lines.length, 2, `not an event and a data line: ${block}`)
      const [first = '', second = ''] = lines
      assert(first.startsWith('event: ') && second.startsWith('data: '), `not event and data: ${block}`)
      return [{ event: first.slice('event: '.length), data: second.slice('data: '.length) }]
    })
}

class StrictMessages {
  #message: Message | undefined
  #open: Json | undefined
  #json = ''
  #signed = false
  #ended = false
  #stopped = false

  event(event: string, text: string): void {
    const data: unknown = JSON.parse(text)
    assert(isRecord(data), 'data is no object')
    assert.equal(event, data.type, 'the name of the event is not the type of its data')
    assert(!this.#stopped, `${event} after message_stop`)
    if (event === 'ping') {
      assert(this.#message !== undefined, 'ping before message_start')
      return
    }
    if (event === 'message_start') this.#begin(data)
    else {
      assert(this.#message !== undefined, `${event} before message_start`)
      this.#follow(this.#message, event, data)
    }
  }

  message(): Message {
    assert(this.#stopped && this.#message !== undefined, 'no message_stop')
    return this.#message
  }

  #begin({ message }: Json): void {
    assert.equal(this.#message, undefined, 'a second message_start')
    assert(isRecord(message), 'message')
    const { id, type, role, model, content, stop_reason, stop_sequence, usage } = message
    assert(typeof id === 'string' && id.startsWith('msg_'), 'id')
    assert.deepEqual({ type, role }, { type: 'message', role: 'assistant' })
    assert(typeof model === 'string', 'model')
    assert.deepEqual(
      { content, stop_reason, stop_sequence },
      { content: [], stop_reason: null, stop_sequence: null },
    )
    assert(isRecord(usage), 'usage of message_start')
    const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = usage
    const input = [input_tokens, cache_read_input_tokens ?? 0, cache_creation_input_tokens ?? 0].map(count)
    assert(
      input.some((tokens) => tokens > 0),
      'no input tokens in message_start',
    )
    count(usage.output_tokens)
    this.#message = { ...message, content: [], usage: { ...usage } }
  }

  #follow(message: Message, event: string, data: Json): void {
    assert(!this.#ended || event === 'message_stop', `${event} after message_delta`)
    switch (event) {
      case 'content_block_start':
        this.#start(message, data)
        return
      case 'content_block_delta':
        assert(isRecord(data.delta), 'delta')
        this.#delta(this.#at(message, data), data.delta)
        return
      case 'content_block_stop':
        this.#stop(this.#at(message, data))
        return
      case 'message_delta':
        this.#end(message, data)
        return
      case 'message_stop':
        assert(this.#ended, 'message_stop without message_delta')
        this.#stopped = true
        return
      default:
        assert.fail(`unexpected event ${event}`)
    }
  }

  #start(message: Message, { index, content_block: block }: Json): void {
    assert.equal(this.#open, undefined, 'a block starts while another one is open')
    assert.equal(index, message.content.length, 'indexes of blocks are dense from 0')
    assert(isRecord(block) && typeof block.type === 'string', 'content_block')
    if (block.type === 'text') assert.equal(block.text, '', 'text in a start')
    if (block.type === 'thinking') {
      assert.deepEqual([block.thinking, block.signature], ['', ''], 'thinking in a start')
    }
    if (DELTAS[block.type]?.includes('input_json_delta')) {
      assert.deepEqual(block.input, {}, 'the input of a start is there and empty')
    }
    if (block.type === 'tool_use') {
      assert(typeof block.id === 'string' && block.id !== '', 'id of a call')
      assert(typeof block.name === 'string' && block.name !== '', 'name of a call')
    }
    if (block.type === 'redacted_thinking') assert(typeof block.data === 'string', 'redacted data')
    this.#open = { ...block }
    this.#json = ''
    this.#signed = false
    message.content.push(this.#open)
  }

  /** The block of an event. */
  #at(message: Message, { index }: Json): Json {
    assert(this.#open !== undefined, 'no block is open')
    assert.equal(index, message.content.length - 1, 'an event of another block than the open one')
    return this.#open
  }

  #delta(block: Json, delta: Json): void {
    const allowed = DELTAS[String(block.type)] ?? []
    assert(allowed.includes(String(delta.type)), `${delta.type} in a block of type ${block.type}`)
    assert(!this.#signed, 'a delta after the signature')
    switch (delta.type) {
      case 'text_delta':
        block.text = `${block.text}${string(delta.text)}`
        return
      case 'thinking_delta':
        block.thinking = `${block.thinking}${string(delta.thinking)}`
        return
      case 'signature_delta':
        this.#signed = true
        block.signature = string(delta.signature)
        return
      case 'input_json_delta':
        this.#json += string(delta.partial_json)
        return
      case 'citations_delta':
        assert(isRecord(delta.citation), 'citation')
        block.citations = [...(Array.isArray(block.citations) ? block.citations : []), delta.citation]
        return
      case 'compaction_delta':
        Object.assign(block, { ...delta, type: 'compaction' })
    }
  }

  #stop(block: Json): void {
    if (this.#json !== '') {
      const input: unknown = JSON.parse(this.#json)
      assert(isRecord(input), 'the input of a call is an object')
      block.input = input
    }
    this.#open = undefined
  }

  /** A call in which the answer ended has no stop, and does not count. */
  #leave(message: Message, open: Json, reason: string): void {
    const isCut = open.type === 'tool_use' && CUTTING.includes(reason)
    assert(isCut, 'message_delta while a block is open')
    message.content.pop()
    this.#open = undefined
  }

  #end(message: Message, { delta, usage, ...beside }: Json): void {
    assert(isRecord(delta) && isRecord(usage), 'delta and usage of message_delta')
    const { stop_reason } = delta
    assert(
      typeof stop_reason === 'string' && STOP_REASONS.includes(stop_reason),
      `stop_reason ${stop_reason}`,
    )
    if (this.#open !== undefined) this.#leave(message, this.#open, stop_reason)
    assert('stop_sequence' in delta, 'stop_sequence is absent')
    assert.equal(
      stop_reason === 'stop_sequence',
      delta.stop_sequence !== null,
      'stop_sequence and its reason',
    )
    const calls = message.content.some(({ type }) => type === 'tool_use')
    if (calls) assert.notEqual(stop_reason, 'end_turn', 'calls, and a stop that is no tool_use')
    count(usage.output_tokens)
    const counters = Object.entries(usage).filter(([, value]) => value !== null)
    const { type: _type, ...more } = beside
    Object.assign(message, delta, more, {
      usage: { ...(isRecord(message.usage) && message.usage), ...Object.fromEntries(counters) },
    })
    this.#ended = true
  }
}

function string(value: unknown): string {
  assert(typeof value === 'string', `not a string: ${JSON.stringify(value)}`)
  return value
}

function count(value: unknown): number {
  assert(typeof value === 'number' && Number.isInteger(value) && value >= 0, `no count of tokens: ${value}`)
  return value
}
