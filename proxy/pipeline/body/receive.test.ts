import { once } from 'node:events'
import { createServer, IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Incoming, type Receiver, receive, type Source } from './receive.ts'

/** A server whose requests are of this kind, and a connection to it. */
async function serverOf(kind: typeof IncomingMessage) {
  const requests: IncomingMessage[] = []
  const server = createServer({ IncomingMessage: kind }, (req, res) => {
    requests.push(req)
    onRequest(req)
    res.on('close', () => closed++)
    answer = () => void res.end('ok')
  })
  let onRequest = (_req: IncomingMessage) => {}
  let answer = () => {}
  let closed = 0
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let answers = ''
  client.on('data', (bytes) => {
    answers += bytes
  })
  onTestFinished(() => {
    client.destroy()
    server.close()
  })
  return {
    client,
    requests,
    answer: () => answer(),
    answers: () => answers.split('HTTP/1.1 200 OK').length - 1,
    closed: () => closed,
    onRequest: (listener: (req: IncomingMessage) => void) => {
      onRequest = listener
    },
  }
}

class Seen implements Receiver {
  text = ''
  ended = 0
  lost = 0
  chunks = 0
  isFull = false

  take(chunk: Buffer): boolean {
    this.chunks++
    this.text += chunk
    return !this.isFull
  }

  end(): void {
    this.ended++
  }

  gone(): void {
    this.lost++
  }
}

const head = (length: number) => `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`
const CHUNKED = 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n'

describe.each([
  ['past the stream', Incoming],
  ['of a stream', IncomingMessage],
])('a body %s', (_, kind) => {
  async function receiving() {
    const server = await serverOf(kind)
    const seen: Seen[] = []
    const sources: Source[] = []
    server.onRequest((req) => {
      const next = new Seen()
      seen.push(next)
      sources.push(receive(req, next))
    })
    const first = () => seen[0] ?? expect.fail('no request')
    const source = () => sources[0] ?? expect.fail('no request')
    const req = () => server.requests[0] ?? expect.fail('no request')
    return { ...server, seen, first, source, req }
  }

  test('arrives in one piece, and the connection serves the next request', async () => {
    const { client, seen, answer, answers, closed } = await receiving()
    for (const [index, body] of ['one', 'twenty'].entries()) {
      client.write(head(body.length) + body)
      await vi.waitFor(() => expect(seen[index]).toMatchObject({ text: body, ended: 1 }))
      answer()
      await vi.waitFor(() => expect([answers(), closed()]).toEqual([index + 1, index + 1]))
    }
  })

  test('arrives chunk by chunk', async () => {
    const { client, first } = await receiving()
    client.write(CHUNKED)
    for (const part of ['a', 'bc', 'def']) {
      client.write(`${part.length}\r\n${part}\r\n`)
      await vi.waitFor(() => expect(first().text.endsWith(part)).toBe(true))
    }
    expect(first().ended).toBe(0)
    client.write('0\r\n\r\n')
    await vi.waitFor(() => expect(first()).toMatchObject({ text: 'abcdef', ended: 1 }))
  })

  test('of no bytes ends', async () => {
    const { client, first } = await receiving()
    client.write(head(0))
    await vi.waitFor(() => expect(first()).toMatchObject({ text: '', ended: 1 }))
  })

  test('belongs to its own request when two come at once', async () => {
    const { client, seen, answer, answers } = await receiving()
    client.write(`${head(3)}one${head(5)}three`)
    await vi.waitFor(() =>
      expect(seen.map(({ text, ended }) => [text, ended])).toEqual([
        ['one', 1],
        ['three', 1],
      ]),
    )
    // The answer of the second waits for that of the first, which the test has let go.
    answer()
    expect(answers()).toBe(0)
  })

  test('whose client leaves is gone', async () => {
    const { client, first } = await receiving()
    client.write(`${head(100)}only this`)
    await vi.waitFor(() => expect(first().text).toBe('only this'))
    client.destroy()
    await vi.waitFor(() => expect(first().lost).toBeGreaterThan(0))
    expect(first().ended).toBe(0)
  })

  test('waits while its receiver takes no more', async () => {
    const { client, first, source } = await receiving()
    const size = 8 * 1_048_576
    client.write(head(size))
    await vi.waitFor(() => expect(first().ended).toBe(0))
    first().isFull = true
    client.write(Buffer.alloc(size, 'x'))
    await vi.waitFor(() => expect(first().chunks).toBe(1))
    // In each of these turns another chunk could come.
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    expect(first().chunks).toBe(1)
    first().isFull = false
    source().readOn()
    await vi.waitFor(() => expect(first().ended).toBe(1), 10_000)
    expect(first().text.length).toBe(size)
  })

  test('that the receiver let go can be read as a stream', async () => {
    const { client, first, source, req } = await receiving()
    client.write(`${head(10)}01234`)
    await vi.waitFor(() => expect(first().text).toBe('01234'))
    source().letGo()
    req().pause()
    client.write('56789')
    await vi.waitFor(() => expect(req().readableLength).toBe(5))
    let rest = ''
    req().on('data', (chunk) => {
      rest += chunk
    })
    req().resume()
    await once(req(), 'end')
    expect([first().text, first().ended, rest]).toEqual(['01234', 0, '56789'])
  })

  test('that is drained after a refusal ends as a stream', async () => {
    const { client, first, req, answer, answers } = await receiving()
    client.write(`${head(10)}01234`)
    await vi.waitFor(() => expect(first().text).toBe('01234'))
    req().resume()
    const end = once(req(), 'end')
    client.write('56789')
    await end
    answer()
    await vi.waitFor(() => expect(answers()).toBe(1))
  })

  test('that is not read to its end does not hold up the next request', async () => {
    const { client, seen, first, answer, answers } = await receiving()
    client.write(`${head(10)}01234`)
    await vi.waitFor(() => expect(first().text).toBe('01234'))
    answer()
    client.write(`56789${head(4)}next`)
    await vi.waitFor(() => expect(seen[1]?.text).toBe('next'))
    answer()
    await vi.waitFor(() => expect(answers()).toBe(2))
  })

  test('of which a part came before the receiver is whole', async () => {
    const server = await serverOf(kind)
    server.client.write(`${head(10)}01234`)
    await vi.waitFor(() => expect(server.requests[0]?.readableLength).toBe(5))
    const seen = new Seen()
    receive(server.requests[0] ?? expect.fail('no request'), seen)
    server.client.write('56789')
    await vi.waitFor(() => expect(seen).toMatchObject({ text: '0123456789', ended: 1 }))
  })
})

const closesStreams = '_dumpAndCloseReadable' in IncomingMessage.prototype

test.runIf(closesStreams)('a body past the stream calls no listener of it (from Node 24.12 on)', async () => {
  const server = await serverOf(Incoming)
  const events: (string | symbol)[] = []
  const seen = new Seen()
  server.onRequest((req) => {
    const { emit } = req
    vi.spyOn(req, 'emit').mockImplementation((event, ...values) => {
      events.push(event)
      return Reflect.apply(emit, req, [event, ...values])
    })
    receive(req, seen)
  })
  server.client.write(`${head(3)}one`)
  await vi.waitFor(() => expect(seen.ended).toBe(1))
  server.answer()
  await vi.waitFor(() => expect([server.answers(), server.closed()]).toEqual([1, 1]))
  expect(events).toEqual([])
})
