/**
 * An upstream that keeps its own bill. It speaks all dialects of text, thinks before it writes, and bills what it has made
 * until the answer is over or the connection closes. A test can stop it at a stage of its answer.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  ANSWERS,
  type Asked,
  SCRIPTS,
  type Script,
  type Stage,
  type UpstreamBill,
} from './billing-answers.ts'
import { until } from './gateway.ts'

export type { Script, Stage, UpstreamBill } from './billing-answers.ts'

export const INPUT_TOKENS = 100
export const REASONING_TOKENS = SCRIPTS.default.reasoning
export const OUTPUT_TOKENS = REASONING_TOKENS + SCRIPTS.default.words

/** A prompt of 400 bytes that names its case and the script of its answer. */
export const promptOf = (id: string, script: Script = 'default') =>
  `case:${id};script:${script};`.padEnd(INPUT_TOKENS * 4, 'p')

export interface BillingUpstream {
  /** Base URL for a channel; messages channels expect it without the version. */
  origin: string
  bill(id: string): UpstreamBill | undefined
  /** Whether an answer is over: made to its end, or broken off. */
  isOver(id: string): boolean
  /** The answer to this prompt stops there until it is released. */
  stopAt(id: string, stage: Stage): void
  /** Resolves when the answer has stopped. */
  stopped(id: string): Promise<unknown>
  release(id: string): void
  /** The answer stops at once, wherever it is, until it is released. */
  halt(id: string): void
  /** Resolves when the answer is over: made to its end, or broken off. */
  over(id: string): Promise<unknown>
  close(): Promise<void>
}

interface Work extends UpstreamBill {
  stopped: boolean
  over: boolean
  halt?: PromiseWithResolvers<void>
}

/** `inputOf`: tokens of a prompt, to tell the bills of many apart. */
export async function startBillingUpstream(
  inputOf = (_id: string) => INPUT_TOKENS,
): Promise<BillingUpstream> {
  const works = new Map<string, Work>()
  const stops = new Map<string, { stage: Stage; gate: PromiseWithResolvers<void> }>()
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const id = /case:([\w-]+);/.exec(text)?.[1] ?? ''
    const script = /script:(\w+);/.exec(text)?.[1] as Script | undefined
    const body = JSON.parse(text) as { model: string; stream?: boolean }
    const work: Work = { input: inputOf(id), output: 0, stopped: false, over: false }
    works.set(id, work)
    const closed = once(res, 'close').then(() => Promise.reject(new Error('closed')))
    closed.catch(() => {
      work.over = true
    })
    const reach = async (stage?: Stage) => {
      const stop = stops.get(id)
      if (stage !== undefined && stop?.stage === stage) {
        work.stopped = true
        await Promise.race([stop.gate.promise, closed])
      }
      if (work.halt !== undefined) await Promise.race([work.halt.promise, closed])
      if (res.destroyed) throw new Error('closed')
    }
    const answer = Object.entries(ANSWERS).find(([path]) => req.url?.endsWith(path))?.[1]
    const asked: Asked = {
      model: body.model,
      stream: body.stream === true,
      script: SCRIPTS[script ?? 'default'],
      reach,
      work,
    }
    await answer?.(asked, res).catch(() => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bill: (id) => works.get(id),
    stopAt: (id, stage) => stops.set(id, { stage, gate: Promise.withResolvers() }),
    stopped: (id) => until(() => works.get(id)?.stopped, `the answer to ${id} to stop`),
    release(id) {
      stops.get(id)?.gate.resolve()
      const work = works.get(id)
      work?.halt?.resolve()
      delete work?.halt
    },
    halt(id) {
      const work = works.get(id)
      if (work !== undefined) work.halt = Promise.withResolvers()
    },
    isOver: (id) => works.get(id)?.over === true,
    over: (id) => until(() => works.get(id)?.over, `the answer to ${id} to be over`),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
