/**
 * Reads responses streams strictly, and reports every violation of the interface.
 */
import assert from 'node:assert/strict'
import { isRecord } from '../../../proxy/dialects/core/json/value.ts'
import { StrictItem } from './strict-responses-item.ts'

type Json = Record<string, unknown>

/** The fields that Open Responses requires in every response object. */
const REQUIRED = [
  'id',
  'object',
  'created_at',
  'completed_at',
  'status',
  'incomplete_details',
  'model',
  'previous_response_id',
  'instructions',
  'output',
  'error',
  'tools',
  'tool_choice',
  'truncation',
  'parallel_tool_calls',
  'text',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'top_logprobs',
  'temperature',
  'reasoning',
  'user',
  'usage',
  'max_output_tokens',
  'max_tool_calls',
  'store',
  'background',
  'service_tier',
  'metadata',
  'safety_identifier',
  'prompt_cache_key',
]
const TERMINALS: Record<string, string> = {
  'response.completed': 'completed',
  'response.incomplete': 'incomplete',
  'response.failed': 'failed',
}

/** Returns the final response; throws at the first violation. */
export function readResponsesStream(text: string): Json {
  const reader = new StrictResponses()
  for (const { event, data } of eventsOf(text)) reader.event(event, data)
  return reader.response()
}

/** Throws if the response lacks a field that a strict client requires. On the byte lane, the upstream decides. */
export function assertComplete(response: Json): void {
  for (const field of REQUIRED) assert(field in response, `the response lacks ${field}`)
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

class StrictResponses {
  #sequence = 0
  #created: Json | undefined
  #running = false
  #final: Json | undefined
  readonly #items: StrictItem[] = []

  event(name: string, data: string): void {
    assert(this.#final === undefined, `${name} after the end`)
    const event: unknown = JSON.parse(data)
    assert(isRecord(event), 'an event is not an object')
    assert.equal(event.type, name, 'the event line and the type differ')
    assert.equal(event.sequence_number, this.#sequence++, `${name}: sequence_number`)
    if (this.#created === undefined) {
      assert.equal(name, 'response.created', 'the first event')
      this.#created = this.#begun(event.response)
    } else if (name in TERMINALS) {
      this.#finish(name, event.response)
    } else if (!this.#running) {
      assert(name === 'response.queued' || name === 'response.in_progress', `${name} before in_progress`)
      this.#begun(event.response)
      this.#running = name === 'response.in_progress'
    } else if (name === 'response.output_item.added') {
      this.#added(event)
    } else {
      this.#itemOf(event).event(name, event)
    }
  }

  response(): Json {
    assert(this.#final !== undefined, 'the stream has no end')
    return this.#final
  }

  #begun(response: unknown): Json {
    assert(isRecord(response), 'a lifecycle event without response')
    this.#check(response)
    assert(response.status === 'in_progress' || response.status === 'queued', 'status at the beginning')
    assert.deepEqual(response.output, [], 'output at the beginning')
    return response
  }

  #check(response: Json): void {
    assert(typeof response.id === 'string' && response.id !== '', 'the response has no id')
    assert.equal(response.object, 'response')
    assert.equal(typeof response.created_at, 'number', 'created_at')
    assert.equal(typeof response.model, 'string', 'model')
    assert(Array.isArray(response.output), 'output is no list')
    const { id, created_at, model } = this.#created ?? response
    assert.deepEqual([response.id, response.created_at, response.model], [id, created_at, model], 'identity')
    checkUsage(response.usage)
  }

  #added(event: Json): void {
    assert.equal(event.output_index, this.#items.length, 'output_index of an added item')
    const item = new StrictItem(event.item)
    const ids = this.#items.map(({ id }) => id)
    assert(!ids.includes(item.id), `the id ${item.id} names two items`)
    this.#items.push(item)
  }

  #itemOf(event: Json): StrictItem {
    const index = event.output_index
    const item = typeof index === 'number' ? this.#items[index] : undefined
    assert(item !== undefined, `${String(event.type)} for no item`)
    return item
  }

  #finish(name: string, response: unknown): void {
    assert(isRecord(response), `${name} without response`)
    this.#check(response)
    if (name === 'response.incomplete') this.#items.at(-1)?.cut(response.output)
    const done = this.#items.flatMap((item) => (item.final === undefined ? [] : [item.final]))
    assert.deepEqual(response.output, done, 'the output is not the items that were done')
    assert.equal(response.status, TERMINALS[name], 'the status at the end')
    if (name === 'response.failed') {
      const { error } = response
      assert(isRecord(error) && typeof error.code === 'string' && typeof error.message === 'string', 'error')
    } else {
      assert.equal(done.length, this.#items.length, 'an item was left open')
    }
    if (name === 'response.incomplete') {
      const details = response.incomplete_details
      assert(isRecord(details) && typeof details.reason === 'string', 'incomplete_details')
    }
    this.#final = response
  }
}

function checkUsage(usage: unknown): void {
  if (usage === null || usage === undefined) return
  assert(isRecord(usage), 'usage is no object')
  const { input_tokens: input, output_tokens: output, total_tokens: total } = usage
  assert(typeof input === 'number' && typeof output === 'number', 'usage lacks a count')
  assert.equal(total, input + output, 'total_tokens')
  assert(isRecord(usage.input_tokens_details), 'input_tokens_details')
  assert.equal(typeof usage.input_tokens_details.cached_tokens, 'number', 'cached_tokens')
  assert(isRecord(usage.output_tokens_details), 'output_tokens_details')
  assert.equal(typeof usage.output_tokens_details.reasoning_tokens, 'number', 'reasoning_tokens')
}
