/** The load generator: sends requests, checks every answer, and measures the time to the first byte. */
import { Pool } from 'undici'
import { requestBody, type Scenario } from './scenarios.ts'

export interface Target {
  name: string
  origin: string
  pid: number
  path: (scenario: Scenario) => string
  headers: Record<string, string>
  /** False: the client gets the upstream's own events. */
  converts: boolean
}

export interface Load {
  requests: number
  /** Of the upstream. */
  events: number
  /** Milliseconds to the first byte of the answer, sorted. */
  latencies: number[]
}

/** Keeps `scenario.clients` requests in flight for `durationMs`. Throws on an unexpected answer. */
export async function load(target: Target, scenario: Scenario, durationMs: number): Promise<Load> {
  const pool = new Pool(target.origin, { connections: scenario.clients, pipelining: 1, bodyTimeout: 30_000 })
  const body = requestBody(scenario)
  const path = target.path(scenario)
  const headers = { 'content-type': 'application/json', ...target.headers }
  const result: Load = { requests: 0, events: 0, latencies: [] }
  const end = performance.now() + durationMs

  async function client(): Promise<void> {
    do {
      const start = performance.now()
      const answer = await pool.request({ method: 'POST', path, headers, body })
      if (answer.statusCode !== 200) {
        const text = await answer.body.text()
        throw wrong(target, scenario, `status ${answer.statusCode}: ${text.slice(0, 300)}`)
      }
      const counter = new EventCounter()
      let firstByte = 0
      for await (const chunk of answer.body) {
        if (firstByte === 0) firstByte = performance.now()
        counter.push(chunk)
      }
      const expected = (target.converts ? scenario.converted : undefined) ?? scenario.events
      if (expected !== undefined && counter.events !== expected)
        throw wrong(target, scenario, `${counter.events} events instead of ${expected}`)
      result.latencies.push(firstByte - start)
      result.requests++
      result.events += scenario.events ?? 0
    } while (performance.now() < end)
  }

  try {
    await Promise.all(Array.from({ length: scenario.clients }, client))
  } finally {
    await pool.destroy()
  }
  result.latencies.sort((a, b) => a - b)
  return result
}

function wrong(target: Target, scenario: Scenario, what: string): Error {
  return new Error(`${target.name}, ${scenario.name}: ${what}`)
}

const NEWLINE = 10

/** Counts the blank lines that end server-sent events, however the chunks are cut. */
export class EventCounter {
  events = 0
  #endsInNewline = false

  push(chunk: Buffer): void {
    let at = 0
    if (this.#endsInNewline && chunk[0] === NEWLINE) {
      this.events++
      at = 1
    }
    for (let found = chunk.indexOf('\n\n', at); found >= 0; found = chunk.indexOf('\n\n', at)) {
      this.events++
      at = found + 2
    }
    if (chunk.length > 0) this.#endsInNewline = chunk.length > at && chunk.at(-1) === NEWLINE
  }
}
