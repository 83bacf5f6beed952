/** Constant requests of every kind through all proxies: single ones, streams, stored chains, and WebSockets. */
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { ask as askChat } from '../../harness/fleet-traffic.ts'
import { until } from '../../harness/gateway.ts'
import { ask } from '../conversations/say.ts'

/** Between two requests of one kind. */
const PACE_MS = 40
/** Turns of a chain before the next one starts. */
export const TURNS = 8

export class RotationTraffic {
  /** Every wrong answer. */
  readonly wrong: string[] = []
  readonly counts: Record<string, number> = {}
  readonly #bases: readonly string[]
  readonly #key: string
  readonly #model: string
  readonly #sockets: WebSocket[] = []
  readonly #loops: Promise<void>[]
  /** Turns so far, of each loop. */
  readonly #turns: number[] = []
  #over = false

  /** Starts at once. `model` is served by a Speaker. */
  constructor(bases: readonly string[], key: string, model: string) {
    this.#bases = bases
    this.#key = key
    this.#model = model
    this.#loops = [
      ...bases.map((base) => this.#repeat('single', () => this.#single(base))),
      this.#repeat('chain', this.#chain(false)),
      this.#repeat('streamed chain', this.#chain(true)),
      ...bases.map(async (base) => this.#repeat('socket', await this.#socket(base))),
    ]
  }

  /** Resolves when the last answer has arrived. */
  async stop(): Promise<void> {
    this.#over = true
    await Promise.all(this.#loops)
    for (const socket of this.#sockets) socket.terminate()
  }

  /** Resolves when every open chain has ended and its loop has started another one. */
  async renewed(): Promise<void> {
    const before = [...this.#turns]
    await until(() => this.#turns.every((turns, i) => turns > (before[i] ?? 0) + TURNS), 'new chains')
  }

  async #repeat(kind: string, turn: () => Promise<string | undefined>): Promise<void> {
    const loop = this.#turns.push(0) - 1
    while (!this.#over) {
      const problem = await turn().catch((error: unknown) => String(error))
      if (problem !== undefined) this.wrong.push(`${kind}: ${problem}`)
      this.counts[kind] = (this.counts[kind] ?? 0) + 1
      this.#turns[loop] = (this.#turns[loop] ?? 0) + 1
      await new Promise((resolve) => setTimeout(resolve, PACE_MS))
    }
  }

  async #single(base: string): Promise<string | undefined> {
    const { status, summary } = await askChat(base, this.#key, this.#model)
    return status === 200 ? undefined : summary
  }

  /** Each turn goes to the next proxy. */
  #chain(stream: boolean): () => Promise<string | undefined> {
    let path: string[] = []
    let previous: string | undefined
    let turn = 0
    return async () => {
      if (turn % TURNS === 0) [path, previous] = [[], undefined]
      const base = this.#bases[turn % this.#bases.length] ?? ''
      const input = `turn ${turn++}`
      const answer = await ask(base, this.#key, {
        model: this.#model,
        input,
        stream,
        ...(previous !== undefined && { previous }),
      })
      if (!('id' in answer)) return `${answer.status} ${answer.code}`
      const read = answer.read.join(', ')
      const wanted = [...path, input].join(', ')
      ;[path, previous] = [[...answer.read, answer.me], answer.id]
      return read === wanted ? undefined : `read ${read} instead of ${wanted}`
    }
  }

  /** One socket that stays open, each message continuing the one before. */
  async #socket(base: string): Promise<() => Promise<string | undefined>> {
    const headers = { authorization: `Bearer ${this.#key}` }
    const socket = new WebSocket(`${base.replace('http', 'ws')}/v1/responses`, { headers })
    this.#sockets.push(socket)
    await once(socket, 'open')
    let previous: string | undefined
    let turn = 0
    return async () => {
      if (turn++ % TURNS === 0) previous = undefined
      const over = Promise.withResolvers<{ type: string; response?: { id: string } }>()
      const onMessage = (data: unknown) => {
        const message = JSON.parse(String(data)) as { type: string; response?: { id: string } }
        if (['response.completed', 'response.failed', 'error'].includes(message.type)) over.resolve(message)
      }
      const lost = () => over.reject(new Error('the socket was closed'))
      socket.on('message', onMessage).once('close', lost)
      socket.send(
        JSON.stringify({
          type: 'response.create',
          model: this.#model,
          input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
          ...(previous !== undefined && { previous_response_id: previous }),
        }),
      )
      const { type, response } = await over.promise.finally(() => {
        socket.off('message', onMessage).off('close', lost)
      })
      previous = response?.id
      return type === 'response.completed' ? undefined : type
    }
  }
}
