/** Invalid API keys of every shape, and a client that sends very many. */
import { Agent, type IncomingMessage, request } from 'node:http'
import { mintKey } from '../../../contract/key-format.ts'

/** Headers as sent. `costs`: whether the gateway must look the key up to know. */
export interface Guess {
  shape: string
  headers: string[]
  costs: boolean
}

/** The `n`th guess of a caller who knows part of `good`; each is different. */
export function guess(n: number, good: string): Guess {
  const shapes: [shape: string, key: string, costs: boolean][] = [
    ['minted', mintKey(), true],
    ['minted with a wrong checksum', wrongChecksum(mintKey()), false],
    ['short', `k${n}`, true],
    ['long', `${'x'.repeat(900)}${n}`, true],
    ['far too long', `${'x'.repeat(2_000)}${n}`, false],
    ['not ASCII', `sk-\u00e9\u00ff${n}`, true],
    ['a prefix of a good one', `${good.slice(0, 1 + (n % good.length))}${n}`, true],
    ['a good one with a suffix', `${good}${n}`, true],
    ['a good one in capitals', `${good.toUpperCase()}${n}`, true],
    ['a prototype name', `__proto__${n}`, true],
  ]
  const [shape, key, costs] = shapes[n % shapes.length] ?? ['none', '', false]
  const isBearer = Math.floor(n / shapes.length) % 2 === 0
  return { shape, headers: isBearer ? ['authorization', `Bearer ${key}`] : ['x-api-key', key], costs }
}

/** Invalid variants of a valid key. */
export const misspelt = (good: string): Guess[] =>
  (
    [
      ['in capitals', ['x-api-key', good.toUpperCase()], true],
      ['without its end', ['x-api-key', good.slice(0, -1)], true],
      ['with a blank inside', ['x-api-key', `${good.slice(0, 3)} ${good.slice(3)}`], true],
      ['in quotes', ['x-api-key', `"${good}"`], true],
      ['under its scheme', ['x-api-key', `Bearer ${good}`], true],
      ['twice', ['authorization', `Bearer ${good} ${good}`], false],
      ['beside another one', ['authorization', `Bearer ${good}`, 'x-api-key', 'sk-other'], false],
      ['under another scheme', ['authorization', `Basic ${good}`], false],
      ['nowhere', [], false],
      ['empty', ['x-api-key', ''], false],
    ] as const
  ).map(([shape, headers, costs]) => ({ shape, headers: [...headers], costs }))

function wrongChecksum(minted: string): string {
  return minted.slice(0, -1) + (minted.endsWith('a') ? 'b' : 'a')
}

/** All that a guesser can see, except for the time, the request id and the lifetime of its connection. */
export function allOf(status: number, headers: object, text: string): string {
  const differs = ['date', 'x-request-id', 'request-id', 'connection', 'keep-alive']
  const rest = Object.entries(headers).filter(([name]) => !differs.includes(name))
  return JSON.stringify([status, rest, text])
}

export interface KeyAnswer {
  status: number
  /** See allOf. */
  all: string
  ms: number
}

export class KeyClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 256 })

  /** GET on a kept connection. Rejects if there is no answer. */
  async get(url: string, headers: readonly string[]): Promise<KeyAnswer> {
    const since = performance.now()
    const res = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(url, { agent: this.#agent, headers: ['host', new URL(url).host, ...headers] })
      sent.on('response', resolve).on('error', reject).end()
    })
    let text = ''
    for await (const chunk of res.setEncoding('utf8')) text += chunk
    const status = res.statusCode ?? 0
    return { status, all: allOf(status, res.headers, text), ms: performance.now() - since }
  }

  /** Sends guesses `from` to `to`, `atOnce` at a time; resolves with how often each answer came. */
  async flood(
    url: string,
    from: number,
    to: number,
    good: string,
    atOnce = 48,
  ): Promise<Map<string, number>> {
    const answers = new Map<string, number>()
    let next = from
    const sender = async () => {
      while (next < to) {
        const { all } = await this.get(url, guess(next++, good).headers)
        answers.set(all, (answers.get(all) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, sender))
    return answers
  }

  close(): void {
    this.#agent.destroy()
  }
}
