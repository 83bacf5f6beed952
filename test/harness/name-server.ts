/** A scripted name server on loopback, over UDP and TCP (RFC 1035, section 4). */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, isIPv4, type Socket } from 'node:net'

/** An address, or the target of a CNAME. `owner` defaults to the queried name; `ttl` is in seconds. */
export interface DnsRecord {
  value: string
  owner?: string
  ttl?: number
}

export type DnsAnswer =
  | (string | DnsRecord)[]
  | { rcode: number }
  /** Bytes that are not a DNS answer. */
  | 'noise'
  | 'silence'
  /** The question with a count of records that are missing. */
  | 'broken'

export interface NameServer {
  /** ADDRESS:PORT */
  address: string
  /** "A name" and "AAAA name", in order of arrival. */
  queries: string[]
  /**
   * Sets the answer for a name: records of the queried type and CNAMEs. A function is called for each query; `time`
   * counts the queries of its type. Names without an answer do not exist.
   */
  set(
    name: string,
    answer: DnsAnswer | ((type: 'A' | 'AAAA', time: number) => DnsAnswer | Promise<DnsAnswer>),
  ): void
  close(): Promise<void>
}

const TYPES = { A: 1, CNAME: 5, AAAA: 28 }
const NXDOMAIN = 3
/** Most bytes of a UDP packet (RFC 9715); a client repeats the query over TCP for more. */
const MAX_PACKET = 1_232

export async function startNameServer(): Promise<NameServer> {
  const queries: string[] = []
  const names = new Map<string, Parameters<NameServer['set']>[1]>()
  const times = new Map<string, number>()

  const reply = async (question: Buffer): Promise<Buffer | undefined> => {
    const { name, number, end } = readQuestion(question)
    const type = number === TYPES.A ? 'A' : number === TYPES.AAAA ? 'AAAA' : undefined
    if (type === undefined) return undefined
    const key = `${type} ${name}`
    queries.push(key)
    const time = times.get(key) ?? 0
    times.set(key, time + 1)
    const given = names.get(name) ?? { rcode: NXDOMAIN }
    const answer = typeof given === 'function' ? await given(type, time) : given
    return written(question.subarray(0, end), type, answer)
  }

  const tcp = createServer((socket: Socket) => {
    let pending = Buffer.alloc(0)
    socket.on('error', () => undefined)
    socket.on('data', async (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk])
      while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
        const length = pending.readUInt16BE(0)
        const question = pending.subarray(2, 2 + length)
        pending = pending.subarray(2 + length)
        const bytes = await reply(question)
        if (bytes === undefined || socket.destroyed) continue
        const head = Buffer.alloc(2)
        head.writeUInt16BE(bytes.length)
        socket.write(Buffer.concat([head, bytes]))
      }
    })
  })
  tcp.listen(0, '127.0.0.1')
  await once(tcp, 'listening')
  const { port } = tcp.address() as AddressInfo
  const udp = createSocket('udp4')
  let closed = false
  udp.on('message', async (question, from) => {
    const bytes = await reply(question)
    if (bytes !== undefined && !closed) udp.send(truncateIfLarge(bytes), from.port, from.address)
  })
  udp.bind(port, '127.0.0.1')
  await once(udp, 'listening')
  return {
    address: `127.0.0.1:${port}`,
    queries,
    set: (name, answer) => void names.set(name, answer),
    async close() {
      closed = true
      udp.close()
      tcp.close()
    },
  }
}

/** Reads the only question; `end` is the offset after it. */
function readQuestion(packet: Buffer): { name: string; number: number; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = packet[at] ?? 0; length > 0; length = packet[at] ?? 0) {
    labels.push(packet.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), number: packet.readUInt16BE(at + 1), end: at + 5 }
}

function written(question: Buffer, type: 'A' | 'AAAA', answer: DnsAnswer): Buffer | undefined {
  if (answer === 'silence') return undefined
  if (answer === 'noise') return Buffer.concat([question.subarray(0, 2), Buffer.alloc(60, 0xff)])
  const records = Array.isArray(answer) ? answer : []
  const bodies = records.flatMap((record) =>
    recordBytes(typeof record === 'string' ? { value: record } : record, type),
  )
  const head = Buffer.from(question.subarray(0, 12))
  // Flags: a response with recursion available.
  head.writeUInt16BE(0x8180 | (typeof answer === 'object' && 'rcode' in answer ? answer.rcode : 0), 2)
  head.writeUInt16BE(answer === 'broken' ? 3 : bodies.length, 6)
  head.writeUInt32BE(0, 8)
  return Buffer.concat([head, question.subarray(12), ...bodies])
}

function recordBytes({ value, owner, ttl = 60 }: DnsRecord, queryType: 'A' | 'AAAA'): Buffer[] {
  const isAddress = isIPv4(value) || value.includes(':')
  const type = isIPv4(value) ? 'A' : isAddress ? 'AAAA' : 'CNAME'
  if (isAddress && type !== queryType) return []
  const data = isIPv4(value)
    ? Buffer.from(value.split('.').map(Number))
    : isAddress
      ? v6(value)
      : nameBytes(value)
  const head = Buffer.alloc(10)
  head.writeUInt16BE(TYPES[type], 0)
  head.writeUInt16BE(1, 2)
  head.writeUInt32BE(ttl, 4)
  head.writeUInt16BE(data.length, 8)
  // A pointer to the question's name, which follows the packet header.
  const name = owner === undefined ? Buffer.from([0xc0, 12]) : nameBytes(owner)
  return [Buffer.concat([name, head, data])]
}

function nameBytes(name: string): Buffer {
  const labels = name
    .split('.')
    .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]))
  return Buffer.concat([...labels, Buffer.from([0])])
}

/** Parses hexadecimal groups with at most one `::` and at most one trailing IPv4 address. */
function v6(address: string): Buffer {
  const text = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_all, ...parts: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = parts.slice(0, 4).map(Number)
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
  })
  const [before = '', after] = text.split('::')
  const groups = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const [first, last] = [groups(before), groups(after ?? '')]
  const all = [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last]
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 255]))
}

/** Replaces a packet that is too large by one without records, marked as truncated. */
function truncateIfLarge(bytes: Buffer): Buffer {
  if (bytes.length <= MAX_PACKET) return bytes
  const { end } = readQuestion(bytes)
  const cut = Buffer.from(bytes.subarray(0, end))
  cut.writeUInt16BE(cut.readUInt16BE(2) | 0x0200, 2)
  cut.writeUInt16BE(0, 6)
  return cut
}
