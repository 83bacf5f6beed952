/** Clients of all dialects that read their answers as JSON, streams or over WebSockets, or leave in the middle. */
import { WebSocket } from 'ws'
import { promptOf } from '../harness/billing-upstream.ts'
import { follow } from '../harness/follow.ts'
import { call, jsonHeaders } from '../harness/http.ts'
import { ACCOUNTS, DIALECTS, type Dialect, keyOf, modelOf, type World } from './world.ts'

const LANES = 12
/** One in so many clients leaves. */
const LEAVES = 5
/** One in so many answers takes its time. */
const SLOW = 3
const SLOW_MS = 2_000
const ANSWER_MS = 60_000

const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' }

/** A request, and what its client saw of it. */
export interface Case {
  id: string
  account: string
  /** Name of the proxy. */
  proxy: string
  /** performance.now(); `endedAt` is undefined while it is under way. */
  sentAt: number
  endedAt: number | undefined
  /** `whole`: the client has read all; `refused`: with a status other than 200; `left`; `cut`: the connection broke. */
  end: 'whole' | 'refused' | 'left' | 'cut' | undefined
  status: number
}

const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)] as T
const oneIn = (count: number) => Math.random() * count < 1
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

export class Load {
  readonly cases: Case[] = []
  readonly #world: World
  readonly #lanes: Promise<void>[]
  #over = false

  /** Starts at once. */
  constructor(world: World) {
    this.#world = world
    this.#lanes = Array.from({ length: LANES }, (_, lane) => this.#run(lane))
  }

  /** Resolves when the last answer is over. */
  async stop(): Promise<void> {
    this.#over = true
    await Promise.all(this.#lanes)
  }

  async #run(lane: number): Promise<void> {
    const { proxies } = this.#world.fleet
    const proxy = proxies[lane % proxies.length]
    if (proxy === undefined) return
    while (!this.#over) {
      const one: Case = {
        id: `n${this.cases.length}`,
        account: pick(ACCOUNTS),
        proxy: proxy.name,
        sentAt: performance.now(),
        endedAt: undefined,
        end: undefined,
        status: 0,
      }
      this.cases.push(one)
      if (oneIn(SLOW)) {
        const { upstream } = this.#world
        upstream.stopAt(one.id, pick(['head', 'thinking', 'text', 'end'] as const))
        setTimeout(() => upstream.release(one.id), Math.random() * SLOW_MS)
      }
      one.end = await this.#ask(one, proxy.base).catch(() => 'cut' as const)
      one.endedAt = performance.now()
      // A refused client tries again later.
      await pause(one.end === 'whole' ? Math.random() * 100 : 300)
    }
  }

  async #ask(one: Case, base: string): Promise<Case['end']> {
    const [client, to] = [pick(dialects), pick(dialects)]
    const form = pick(['json', 'stream', 'stream', 'socket'] as const)
    if (form === 'socket') return askBySocket(one, base, to)
    const url = base + PATHS[client]
    const body = JSON.stringify(bodyOf(client, to, one.id, form === 'stream'))
    const headers = jsonHeaders(keyOf(one.account))
    const leaves = oneIn(LEAVES)
    if (form === 'json') {
      const signal = AbortSignal.timeout(leaves ? Math.random() * SLOW_MS : ANSWER_MS)
      const answer = await call(url, { headers, body, signal }).catch(() => undefined)
      if (answer === undefined) return leaves ? 'left' : 'cut'
      one.status = answer.status
      return answer.status === 200 ? 'whole' : 'refused'
    }
    const answer = await follow(url, { headers, body, signal: AbortSignal.timeout(ANSWER_MS) })
    one.status = answer.status
    if (answer.status !== 200) return answer.ended.then(() => 'refused')
    if (leaves) {
      await Promise.race([answer.ended, pause((Math.random() * SLOW_MS) / 2)])
      answer.leave()
      return 'left'
    }
    const isWhole = (await answer.ended) && !/^(event: error|data: \{"error")/m.test(answer.text())
    return isWhole ? 'whole' : 'cut'
  }
}

const dialects = Object.keys(DIALECTS) as Dialect[]

function bodyOf(client: Dialect, to: Dialect, id: string, stream: boolean): object {
  const messages = [{ role: 'user', content: promptOf(id) }]
  const own = {
    chat: { messages, max_completion_tokens: 5_000 },
    responses: { input: messages, max_output_tokens: 5_000 },
    messages: { messages, max_tokens: 5_000 },
  }
  return { model: modelOf(to), ...own[client], ...(stream && { stream }) }
}

function askBySocket(one: Case, base: string, to: Dialect): Promise<Case['end']> {
  const headers = { authorization: `Bearer ${keyOf(one.account)}` }
  const socket = new WebSocket(`${base.replace('http', 'ws')}/v1/responses`, { headers })
  const leaves = oneIn(LEAVES)
  return new Promise((resolve) => {
    const end = (how: Case['end']) => {
      resolve(how)
      socket.terminate()
    }
    socket.on('open', () => {
      one.status = 200
      socket.send(JSON.stringify({ type: 'response.create', ...bodyOf('responses', to, one.id, false) }))
      if (leaves) setTimeout(() => end('left'), Math.random() * SLOW_MS)
    })
    socket.on('message', (data: Buffer) => {
      const { type } = JSON.parse(data.toString()) as { type: string }
      if (type === 'response.completed') end('whole')
      else if (type === 'error' || type === 'response.failed') end('refused')
    })
    socket.on('error', () => end('cut'))
    socket.on('close', () => end('cut'))
    setTimeout(() => end('cut'), ANSWER_MS).unref()
  })
}
