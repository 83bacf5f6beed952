/** Attacks on a gateway. Each repeats one step at a fixed rate, without waiting for answers. */
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { WebSocket } from 'ws'

interface Victim {
  port: number
  key: string
}

interface Attack {
  name: string
  /** Steps per second. */
  rate: number
  step(victim: Victim, n: number): void
}

const MIB = 1_048_576
const CHAT = '/v1/chat/completions'

function raw({ port }: Victim, bytes: string | Buffer, keep = false): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  if (!keep) socket.on('data', () => undefined)
  socket.write(bytes)
  return socket
}

function post(victim: Victim, path: string, body: Buffer, { key = victim.key, headers = '' } = {}): void {
  const head =
    `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${key}\r\n` +
    `content-type: application/json\r\ncontent-length: ${body.length}\r\n${headers}\r\n`
  raw(victim, Buffer.concat([Buffer.from(head), body]))
}

const chat = (rest: string) =>
  Buffer.from(`{"model":"bench-chat-json","messages":[{"role":"user","content":${rest}}]}`)
const MESSAGES = '/v1/messages'
/** A request that the gateway converts for the upstream. */
const messages = (rest: string) =>
  Buffer.from(`{"model":"bench-chat-json","max_tokens":9,"messages":[{"role":"user","content":${rest}}]}`)

const DEEP = chat('['.repeat(500_000))
const KEYS = Buffer.from(`{${Array.from({ length: 300_000 }, (_, n) => `"k${n}":1`).join(',')}}`)
const NUMBERS = chat(`[${'1,'.repeat(900_000)}1]`)
const VALUES = chat(`[${'1,'.repeat(5 * MIB)}1]`)
const BOMB = gzipSync(Buffer.alloc(100 * MIB))
const LONG = `"${'x'.repeat(16 * MIB)}"`
const QUOTED = chat(`"${'say \\"hello\\"\\n'.repeat(MIB)}"`)
/** As many values as are allowed, in a field that the upstream may know. */
const FULL = `"x","vendor":[${'1,'.repeat(499_000)}1]`
const LONG_CHAT = chat(LONG)
const LONG_MESSAGES = messages(LONG)
const FULL_CHAT = chat(FULL)
const FULL_MESSAGES = messages(FULL)
const ESCAPES = chat(`"${'\\u0000'.repeat(MIB)}"`)
const HUGE = chat(
  `[${Array.from({ length: 20_000 }, () => `{"type":"text","text":"${'x'.repeat(2_970)}"}`).join(',')}]`,
)
const MANY = Buffer.from(
  `{"model":"bench-chat-json","messages":[${Array.from({ length: 16_000 }, () => '{"role":"user","content":"x"}').join(',')}]}`,
)

/** Connections that stay open and send a byte from time to time. */
const dribbling: Socket[] = []
function dribble(victim: Victim, n: number, start: string, byte: string, most: number): void {
  const old = dribbling.length >= most ? dribbling[n % most] : undefined
  if (old === undefined) dribbling.push(raw(victim, start))
  else if (old.destroyed) dribbling[n % most] = raw(victim, start)
  else old.write(byte)
}

const sockets: WebSocket[] = []
function socketOf({ port, key }: Victim, n: number, most: number): WebSocket {
  const slot = n % most
  const open = sockets[slot]
  if (open !== undefined && open.readyState <= WebSocket.OPEN) return open
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/responses`, {
    headers: { authorization: `Bearer ${key}` },
  })
  socket.on('error', () => undefined)
  sockets[slot] = socket
  return socket
}

const relayTo = (url: string) => Buffer.from(JSON.stringify({ url, format: 'openai', body: { model: 'x' } }))

export const ATTACKS: Attack[] = [
  {
    name: 'unknown keys',
    rate: 300,
    step: (victim, n) => post(victim, CHAT, chat('"x"'), { key: `sk-unknown-${n}` }),
  },
  { name: 'garbage', rate: 300, step: (victim, n) => raw(victim, `\x16\x03\x01${n}\r\n\r\n\0\0GET`) },
  {
    name: 'both lengths',
    rate: 300,
    step: (victim) =>
      raw(
        victim,
        `POST ${CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /`,
      ),
  },
  {
    name: 'slow headers, 2,000 connections',
    rate: 1_000,
    step: (victim, n) => dribble(victim, n, `POST ${CHAT} HTTP/1.1\r\nhost: x\r\n`, 'a: b\r\n', 2_000),
  },
  {
    name: 'slow bodies, 5,000 connections',
    rate: 1_000,
    step: (victim, n) =>
      dribble(
        victim,
        n,
        `POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${victim.key}\r\ncontent-length: 1000000\r\n\r\n{"model":`,
        ' ',
        5_000,
      ),
  },
  {
    name: 'streams that the client does not read',
    rate: 20,
    step(victim) {
      const body = Buffer.from(
        '{"model":"bench-chat-s500x0","stream":true,"messages":[{"role":"user","content":"x"}]}',
      )
      const head = `POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${victim.key}\r\ncontent-length: ${body.length}\r\n\r\n`
      raw(victim, head + body, true).pause()
    },
  },
  { name: 'nesting, 500 kB', rate: 30, step: (victim) => post(victim, CHAT, DEEP) },
  { name: 'keys, 3 MB', rate: 10, step: (victim) => post(victim, CHAT, KEYS) },
  { name: 'numbers, 1.8 MB', rate: 5, step: (victim) => post(victim, CHAT, NUMBERS) },
  { name: 'too many values, 10 MB', rate: 2, step: (victim) => post(victim, CHAT, VALUES) },
  { name: 'escapes, 6 MB', rate: 2, step: (victim) => post(victim, CHAT, ESCAPES) },
  { name: 'a text of 16 MB', rate: 1, step: (victim) => post(victim, CHAT, LONG_CHAT) },
  { name: 'a text of 16 MB, converted', rate: 1, step: (victim) => post(victim, MESSAGES, LONG_MESSAGES) },
  { name: 'quotes, 16 MB', rate: 1, step: (victim) => post(victim, CHAT, QUOTED) },
  { name: '500,000 values', rate: 5, step: (victim) => post(victim, CHAT, FULL_CHAT) },
  { name: '500,000 values, converted', rate: 5, step: (victim) => post(victim, MESSAGES, FULL_MESSAGES) },
  {
    name: 'twenty bodies of 60 MB at once',
    rate: 0.5,
    step(victim) {
      for (let n = 0; n < 20; n++) post(victim, CHAT, HUGE)
    },
  },
  {
    name: 'signs as a key for the relay',
    rate: 100,
    step: (victim) =>
      post(victim, '/api/proxy', relayTo('http://169.254.169.254/'), { key: `a${'!'.repeat(4_090)}a` }),
  },
  { name: '16,000 messages', rate: 5, step: (victim) => post(victim, CHAT, MANY) },
  {
    name: 'gzip, 100 MB of zeros',
    rate: 10,
    step: (victim) => post(victim, CHAT, BOMB, { headers: 'content-encoding: gzip\r\n' }),
  },
  {
    name: 'messages on WebSockets',
    rate: 500,
    step(victim, n) {
      const socket = socketOf(victim, n, 20)
      if (socket.readyState === WebSocket.OPEN) socket.send(n % 2 === 0 ? '{"type":"nonsense"}' : '{')
    },
  },
  {
    name: 'pings on WebSockets',
    rate: 2_000,
    step(victim, n) {
      const socket = socketOf(victim, n, 20)
      if (socket.readyState === WebSocket.OPEN) socket.ping()
    },
  },
  { name: 'unknown paths', rate: 300, step: (victim, n) => post(victim, `/nope/${n}`, chat('"x"')) },
  { name: 'values for the relay, 10 MB', rate: 2, step: (victim) => post(victim, '/api/proxy', VALUES) },
  {
    name: 'relay to refused addresses',
    rate: 100,
    step: (victim, n) => post(victim, '/api/proxy', relayTo(`http://169.254.169.254:${n % 60_000}/`)),
  },
]
