/** Clients that send requests through the ingress all the time, and notice whatever is not a good answer. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { call, chatBody, jsonHeaders } from '../harness/http.ts'

const PACE_MS = 40

export interface Traffic {
  /** Good answers so far. */
  served(): number
  /** What clients noticed so far. */
  problems(): string[]
  /** Resolves when the last answer has arrived; fails if a client noticed anything. */
  stop(): Promise<void>
}

/**
 * Each key and model is a client; every request has a connection of its own, so none fails for an old one. `logs` is
 * everything that the proxies have logged.
 */
export function startTraffic(
  base: string,
  clients: readonly { key: string; model: string }[],
  logs: () => string,
): Traffic {
  const about = (id: unknown) =>
    logs()
      .split('\n')
      .filter((line) => typeof id === 'string' && line.includes(id))
      .join('\n')
  const problems: string[] = []
  let served = 0
  let over = false
  const loops = clients.map(async ({ key, model }) => {
    let again = false
    for (let stream = false; !over || again; stream = !stream) {
      const sentAt = new Date().toISOString()
      const body = chatBody(model, { stream, max_tokens: 10 })
      const answer = await call(`${base}/v1/chat/completions`, { headers: jsonHeaders(key), body }).catch(
        (error: unknown) => String(error),
      )
      const good =
        typeof answer !== 'string' &&
        answer.status === 200 &&
        (stream ? answer.text.endsWith('data: [DONE]\n\n') : answer.text.includes('"usage"'))
      if (good) served++
      // On a machine that does much else, a hold may time out. SDKs retry twice; here the next answer must be good.
      const late: boolean =
        typeof answer !== 'string' && answer.text.includes('"store_unavailable"') && !again
      again = late
      if (!good && !late)
        problems.push(
          typeof answer === 'string'
            ? `${sentAt} ${model}: ${answer}`
            : `${sentAt} ${model}: ${answer.status} ${answer.text}\n${about(answer.headers['x-request-id'])}`,
        )
      await pause(PACE_MS)
    }
  })
  return {
    served: () => served,
    problems: () => problems,
    async stop() {
      over = true
      await Promise.all(loops)
      expect(problems).toEqual([])
    },
  }
}
