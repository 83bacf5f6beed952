import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { NameServers } from './resolve.ts'
import { makePolicy, verdict } from './testing.ts'

const A = 1
const AAAA = 28
const SERVFAIL = 2
const NXDOMAIN = 3

/** Addresses as bytes, the number of an error, garbage, or silence. */
type Answer = number[][] | { rcode: number } | 'noise' | 'silence'

/** A name server with an answer for each `<type> <name>`, which records its queries. */
class TestNameServer {
  readonly queries: string[] = []
  readonly answers = new Map<string, Answer>()
  readonly #socket: Socket = createSocket('udp4')

  async listen(): Promise<string> {
    this.#socket.on('message', (question, from) => {
      const reply = this.#reply(question)
      if (reply !== undefined) this.#socket.send(reply, from.port, from.address)
    })
    this.#socket.bind(0, '127.0.0.1')
    await once(this.#socket, 'listening')
    return `127.0.0.1:${this.#socket.address().port}`
  }

  close(): void {
    this.#socket.close()
  }

  /** RFC 1035, section 4: the question, then records that point to its name. */
  #reply(question: Buffer): Buffer | undefined {
    const labels: string[] = []
    let at = 12
    for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
      labels.push(question.toString('latin1', at + 1, at + 1 + length))
      at += 1 + length
    }
    const key = `${question.readUInt16BE(at + 1)} ${labels.join('.').toLowerCase()}`
    this.queries.push(key)
    const answer = this.answers.get(key) ?? { rcode: NXDOMAIN }
    if (answer === 'silence') return undefined
    if (answer === 'noise') return Buffer.concat([question.subarray(0, 2), Buffer.alloc(60, 0xff)])
    const records = Array.isArray(answer) ? answer : []
    const head = Buffer.from(question.subarray(0, 12))
    head.writeUInt16BE(0x8180 | (Array.isArray(answer) ? 0 : answer.rcode), 2)
    head.writeUInt16BE(records.length, 6)
    head.writeUInt32BE(0, 8)
    const bodies = records.map((bytes) => {
      const type = bytes.length === 4 ? A : AAAA
      return Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes])
    })
    return Buffer.concat([head, question.subarray(12, at + 5), ...bodies])
  }
}

const V6 = [0x26, 0x06, 0x47, 0, ...new Array<number>(11).fill(0), 1]
const never = new AbortController().signal

let server = new TestNameServer()
let names = new NameServers([])
let address = ''

beforeEach(async () => {
  server = new TestNameServer()
  address = await server.listen()
  names = new NameServers([address])
})
afterEach(() => server.close())

const give = (a: Answer, aaaa: Answer, name = 'example.com') => {
  server.answers.set(`${A} ${name}`, a)
  server.answers.set(`${AAAA} ${name}`, aaaa)
}

describe('public names', () => {
  test('are resolved in both families, IPv4 first', async () => {
    give(
      [
        [8, 8, 8, 8],
        [8, 8, 4, 4],
      ],
      [V6],
    )
    expect(await names.dns('example.com', never)).toEqual(['8.8.8.8', '8.8.4.4', '2606:4700::1'])
    expect(server.queries.sort()).toEqual([`${A} example.com`, `${AAAA} example.com`])
  })

  test('may have addresses of one family', async () => {
    give([[8, 8, 8, 8]], [])
    expect(await names.dns('example.com', never)).toEqual(['8.8.8.8'])
    give([], [V6])
    expect(await names.dns('example.com', never)).toEqual(['2606:4700::1'])
  })

  test('that do not exist have no addresses', async () => {
    expect(await names.dns('example.com', never)).toEqual([])
    expect(await verdict(makePolicy({}, names), 'https://example.com/')).toBe('address_refused')
  })

  test.each<[string, Answer, Answer]>([
    ['fails', [[8, 8, 8, 8]], { rcode: SERVFAIL }],
    ['is answered with garbage', [[8, 8, 8, 8]], 'noise'],
  ])('have the addresses of one family when the other %s', async (_when, a, aaaa) => {
    give(a, aaaa)
    expect(await names.dns('example.com', never)).toEqual(['8.8.8.8'])
  })

  test('have no addresses when both families fail', async () => {
    give({ rcode: SERVFAIL }, { rcode: SERVFAIL })
    expect(await names.dns('example.com', never)).toEqual([])
    expect(await verdict(makePolicy({}, names), 'https://example.com/')).toBe('address_refused')
  })

  test('are queried as written, without hosts file and search domains', async () => {
    expect(await names.dns('localhost', never)).toEqual([])
    expect(await names.dns('redis', never)).toEqual([])
    expect([...new Set(server.queries)].sort()).toEqual(
      ['localhost', 'redis'].flatMap((name) => [`${A} ${name}`, `${AAAA} ${name}`]).sort(),
    )
  })

  test('with a private address in one family are refused', async () => {
    give([[8, 8, 8, 8]], [[...new Array<number>(15).fill(0), 1]])
    expect(await verdict(makePolicy({}, names), 'https://example.com/')).toBe('address_refused')
    give([[8, 8, 8, 8]], [V6])
    expect(await verdict(makePolicy({}, names), 'https://example.com/')).toBe('8.8.8.8 2606:4700::1')
  })

  test('are resolved once for each target, so that a later answer has no effect', async () => {
    give([[8, 8, 8, 8]], [])
    const target = await makePolicy({}, names).target('https://example.com/', never)
    give([[127, 0, 0, 1]], [])
    expect(target.addresses).toEqual(['8.8.8.8'])
    expect(server.queries).toHaveLength(2)
    expect(await verdict(makePolicy({}, names), 'https://example.com/')).toBe('address_refused')
  })
})

describe('a silent name server', () => {
  test('ends a look-up when its signal aborts, and no other one', async () => {
    give('silence', 'silence', 'slow.example.com')
    give([[8, 8, 8, 8]], [])
    const stop = new AbortController()
    const slow = names.dns('slow.example.com', stop.signal)
    const other = names.dns('example.com', never)
    stop.abort(new Error('gone'))
    await expect(slow).rejects.toThrow('gone')
    expect(await other).toEqual(['8.8.8.8'])
  })

  test('is not queried when the signal is aborted already', async () => {
    await expect(names.dns('example.com', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
    await expect(names.system('localhost', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
    expect(await verdict(makePolicy({}, names), 'https://example.com/')).toBe('address_refused')
  })

  test('ends a look-up after some seconds', async () => {
    give('silence', 'silence')
    expect(await verdict(makePolicy({}, names), 'https://example.com/')).toBe('address_refused')
  })
})

test('the system resolves localhost', async () => {
  const found = await names.system('localhost', never)
  expect(found.filter((each) => each !== '127.0.0.1' && each !== '::1')).toEqual([])
  expect(found).not.toEqual([])
  expect(server.queries).toEqual([])
})

test('a name server must be an address', () => {
  expect(() => new NameServers(['dns.example.com'])).toThrow(TypeError)
  expect(() => new NameServers(['9.9.9.9', '[2620:fe::fe]:53', '2620:fe::9'])).not.toThrow()
})
