import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import '../../index.ts'
import { isRecord } from '../../core/json/value.ts'
import { ResponsesStreamObserver } from '../byte-lane/stream.ts'
import { parseRequest } from '../request.ts'
import { ResponseTap } from './tap.ts'

const REQUEST = parseRequest(Buffer.from('{"model":"m","input":"Hi","stream":true}'), {
  maxDepth: 64,
  maxKeys: 1000,
})
const message = (id: string, text = 'x') =>
  `{"id":"${id}","type":"message","role":"assistant","content":[{"type":"output_text","text":${JSON.stringify(text)}}]}`
const sentMessage = (text = 'x') =>
  `{"type":"message","role":"assistant","content":[{"type":"output_text","text":${JSON.stringify(text)}}]}`
const sse = (type: string, fields: string) => `event: ${type}\ndata: {"type":"${type}",${fields}}\n\n`
const done = (index: number, item: string) =>
  sse('response.output_item.done', `"output_index":${index},"item":${item}`)
const ended = (output = '', type = 'completed', more = '') =>
  sse(`response.${type}`, `"response":{"id":"resp_1","status":"${type}"${more},"output":[${output}]}`)
const DELTA = sse('response.output_text.delta', '"delta":"\\"response.completed\\""')
const BEGUN = sse('response.created', '"response":{"id":"resp_1","status":"in_progress","output":[]}')

function tapped(...pushes: string[]) {
  const tap = new ResponseTap()
  for (const text of pushes) tap.push(Buffer.from(text))
  return tap.record()
}

describe('a stream', () => {
  test('ends with a record', () => {
    const record = {
      id: 'resp_1',
      response: `{"id":"resp_1","status":"completed","output":[${message('a')}]}`,
      items: [sentMessage()],
      itemIds: ['a'],
      bound: [],
    }
    expect(tapped(BEGUN, DELTA, done(0, message('a')), ended(message('a')))).toEqual(record)
  })

  test('a cut answer can be continued', () => {
    expect(tapped(BEGUN, ended(message('a'), 'incomplete'))).toMatchObject({ items: [sentMessage()] })
  })

  test('an answer without output, too', () => {
    expect(tapped(BEGUN, ended())).toMatchObject({ id: 'resp_1', items: [], bound: [] })
  })

  test('an empty output is filled from the items, by index', () => {
    const items = [done(1, message('b', 'B')), done(0, message('a', 'A')), done(1, message('c', 'C'))]
    const record = tapped(BEGUN, ...items, ended())
    expect(record?.items).toEqual(['A', 'B', 'C'].map(sentMessage))
    expect(record?.response).toContain(
      `"output":[${message('a', 'A')},${message('b', 'B')},${message('c', 'C')}]`,
    )
  })

  test('items without an index keep their order', () => {
    const item = (text: string) => sse('response.output_item.done', `"item":${message('m', text)}`)
    expect(tapped(item('A'), item('B'), ended())?.items).toEqual(['A', 'B'].map(sentMessage))
  })

  test('numbers keep their digits', () => {
    const item = '{"type":"x","n":12345678901234567890,"m":1.50}'
    expect(tapped(done(0, item), ended())?.items).toEqual([item])
    expect(tapped(ended(item))?.items).toEqual([item])
  })

  test('without event names, with CR LF, and with non-ASCII text', () => {
    const plain = `${done(0, message('a', 'é😀'))}${ended()}`.replace(/^event: .*\n/gm, '')
    const items = [sentMessage('é😀')]
    expect(tapped(plain)?.items).toEqual(items)
    expect(tapped(plain.replaceAll('\n', '\r\n'))?.items).toEqual(items)
  })

  test('a type in the event name only', () => {
    const text = 'event: response.completed\ndata: {"response":{"id":"resp_1","output":[]}}\n\n'
    expect(tapped(text)).toMatchObject({ id: 'resp_1' })
  })

  test.each<[string, string[]]>([
    ['not ended', [BEGUN, DELTA, done(0, message('a'))]],
    ['failed', [BEGUN, ended('', 'failed')]],
    ['cancelled', [BEGUN, ended('', 'cancelled')]],
    ['broken off', [BEGUN, sse('error', '"code":"x","message":"response.completed"')]],
    [
      'completed as failed',
      [sse('response.completed', '"response":{"id":"resp_1","status":"failed","output":[]}')],
    ],
    ['completed with an error', [ended('', 'completed', ',"error":{"code":"x"}')]],
    ['without a response', [sse('response.completed', '"response":null')]],
    ['not JSON', ['event: response.completed\ndata: {"response":{"id":"resp_1","output":[]}\n\n']],
    ['[DONE]', ['event: response.completed\ndata: [DONE]\n\n']],
  ])('has no record of an answer that is %s', (_name, pushes) => {
    expect(tapped(...pushes)).toBeUndefined()
  })

  test('ignores everything after its end', () => {
    const other = ended(message('b', 'B')).replaceAll('resp_1', 'resp_2')
    expect(tapped(ended(message('a', 'A')), other, done(0, message('c')))?.items).toEqual([sentMessage('A')])
    expect(tapped(ended(), done(0, message('c')))?.items).toEqual([])
    expect(tapped(`${ended()}${done(0, message('c'))}`)?.items).toEqual([])
    expect(tapped(`${ended(message('a', 'A'))}${other}`)?.id).toBe('resp_1')
  })

  test('returns the same record again', () => {
    const tap = new ResponseTap()
    tap.push(Buffer.from(ended(message('a'))))
    const record = tap.record()
    expect(record).toBeDefined()
    expect(tap.record()).toEqual(record)
  })
})

describe('a whole answer', () => {
  const whole = (text: string) => {
    const tap = new ResponseTap()
    tap.whole(Buffer.from(text))
    return tap.record()
  }
  const answer = (more: string) => `{"id":"resp_1",${more}"output":[${message('a')}]}`

  test.each(['', '"status":"completed",', '"status":"incomplete",', '"object":"response","error":null,'])(
    'with %s can be continued',
    (more) => {
      const record = {
        id: 'resp_1',
        response: answer(more),
        items: [sentMessage()],
        itemIds: ['a'],
        bound: [],
      }
      expect(whole(answer(more))).toEqual(record)
    },
  )

  test.each([
    answer('"status":"failed",'),
    answer('"status":"cancelled",'),
    answer('"status":"queued",'),
    answer('"status":"in_progress",'),
    answer('"error":{"message":"x"},'),
    answer('"object":"response.compaction",'),
    '{"error":{"message":"x"}}',
    'null',
    '',
  ])('%s cannot', (text) => {
    expect(whole(text)).toBeUndefined()
  })
})

describe('the size limit', () => {
  const limited = (limit: number, ...pushes: string[]) => {
    const tap = new ResponseTap(limit)
    for (const text of pushes) tap.push(Buffer.from(text))
    return tap.record()
  }
  const data = (event: string) => event.slice(event.indexOf('data: ') + 'data: '.length).trimEnd()

  test('applies to all items together', () => {
    const items = [done(0, message('a')), done(1, message('b'))]
    const length = items.map(data).join('').length
    expect(limited(length, ...items, ended())?.items).toHaveLength(2)
    expect(limited(length - 1, ...items, ended())).toBeUndefined()
    expect(limited(length - 1, items.join(''), ended())).toBeUndefined()
  })

  test('applies to the response', () => {
    const end = ended(message('a'))
    expect(limited(data(end).length, BEGUN, end)).toBeDefined()
    expect(limited(data(end).length - 1, BEGUN, end)).toBeUndefined()
  })

  test('applies to a whole answer', () => {
    const body = Buffer.from(`{"id":"resp_1","output":[${message('é')}]}`)
    const record = (limit: number) => {
      const tap = new ResponseTap(limit)
      tap.whole(body)
      return tap.record()
    }
    expect(record(body.length)).toBeDefined()
    expect(record(body.length - 1)).toBeUndefined()
  })
})

test('the record does not depend on the chunks', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '"', '\n', '😀', 'response.completed', 'event: ') })
  const item = fc.tuple(fc.constantFrom('message', 'function_call', 'x'), text)
  const noise = fc.constantFrom(
    DELTA,
    BEGUN,
    ': keep-alive\n\n',
    sse('response.output_item.added', '"output_index":0,"item":{"type":"message"}'),
    'data: response.output_item.done\n\n',
    'data: {"type":"response.output_text.done","text":"response.output_item.done"}\n\n',
  )
  const step = fc.oneof(item, noise)
  fc.assert(
    fc.property(fc.array(step), fc.boolean(), fc.array(fc.boolean()), (steps, isTold, joins) => {
      const items = steps.flatMap((s) =>
        typeof s === 'string' ? [] : [`{"type":"${s[0]}","text":${JSON.stringify(s[1])},"n":1.0}`],
      )
      let index = 0
      const events = steps.map((s) => (typeof s === 'string' ? s : done(index, items[index++] ?? '')))
      events.push(ended(isTold ? items.join(',') : ''))
      const pushes: string[] = []
      events.forEach((event, i) => {
        if (joins[i] === true && pushes.length > 0) pushes.push(`${pushes.pop()}${event}`)
        else pushes.push(event)
      })
      const response = `{"id":"resp_1","status":"completed","output":[${items.join(',')}]}`
      expect(tapped(...pushes)).toEqual({ id: 'resp_1', response, items, itemIds: [], bound: [] })
    }),
  )
})

const { RECORDINGS } = process.env
const folder =
  RECORDINGS === undefined
    ? join(import.meta.dirname, '../byte-lane/__fixtures__')
    : join(RECORDINGS, 'responses')

describe(
  RECORDINGS === undefined ? 'own fixtures (RECORDINGS is not set)' : 'recordings of real upstreams',
  () => {
    const files = readdirSync(folder)

    test('streams and answers exist', () => {
      expect(files.filter((file) => file.endsWith('.sse')).length).toBeGreaterThan(2)
      expect(files.filter((file) => file.endsWith('.json')).length).toBeGreaterThan(1)
    })

    test.each(files)('%s', (file) => {
      const bytes = readFileSync(join(folder, file))
      const tap = new ResponseTap()
      if (file.endsWith('.json')) tap.whole(bytes)
      else relay(bytes, tap)
      const record = tap.record()
      const expected = slowly(bytes.toString('utf8'), file.endsWith('.json'))
      expect(record?.id).toEqual(expected?.id)
      expect(record && JSON.parse(record.response)).toEqual(expected)
      expect(record?.items.map((item): unknown => JSON.parse(item))).toEqual(
        expected && sentBack(expected.output),
      )
    })

    function relay(bytes: Buffer, tap: ResponseTap): void {
      const observer = new ResponsesStreamObserver(REQUEST, 10_000_000)
      const take = (events: Buffer | undefined) => events && tap.push(events)
      for (let from = 0; from < bytes.length; from += 700)
        take(observer.push(bytes.subarray(from, from + 700)))
      take(observer.flush())
    }

    /** The response that a client could continue, read with JSON.parse. */
    function slowly(text: string, isWhole: boolean): Record<string, unknown> | undefined {
      const values = isWhole
        ? [JSON.parse(text)]
        : [...text.matchAll(/^data: ?(\{.*?)\r?$/gm)].map(([, data = '']): unknown => JSON.parse(data))
      const ends = values
        .filter(isRecord)
        .map((value) => (isWhole ? value : isEnd(value) ? value.response : {}))
      return ends
        .filter(isRecord)
        .find(({ status }) => /^(complete|completed|incomplete)$/.test(String(status)))
    }

    function isEnd({ type }: Record<string, unknown>): boolean {
      return type === 'response.completed' || type === 'response.incomplete'
    }

    function sentBack(output: unknown): unknown[] {
      const items: unknown[] = Array.isArray(output) ? output : []
      return items.filter(isRecord).flatMap((item) => {
        const { id: _id, status: _status, ...rest } = item
        const isMute = item.type === 'reasoning' && JSON.stringify(item.summary ?? []) === '[]'
        if (isMute && !item.encrypted_content && JSON.stringify(item.content ?? []) === '[]') return []
        return [/^(message|function_call|custom_tool_call|reasoning)$/.test(String(item.type)) ? rest : item]
      })
    }
  },
)
