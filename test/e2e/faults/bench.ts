/** A gateway in front of faulty upstreams of every dialect, and requests for all nine pairs of dialects. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ENDPOINTS } from '../../../contract/endpoints.ts'
import { type DialectName, UPSTREAM_FIXTURES } from '../../fixtures/faults/index.ts'
import { type RunningGateway, startGateway } from '../../harness/gateway.ts'
import { type Answer, call, jsonHeaders, open } from '../../harness/http.ts'
import { account, apiKey, channel, documents, route } from '../../harness/resources.ts'
import { type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'
import { CANARY, type Fault, type FaultContext } from './fault.ts'

export const DIALECTS: DialectName[] = ['chat', 'responses', 'messages']
export const KEY = 'sk-fault-bench-0123456789'
export const UPSTREAM_KEY = 'upstream-credential-0123456789'
const MAX_EVENT_BYTES = 262_144
const MAX_ANSWER_BYTES = 1_048_576

export interface Pair {
  /** Dialect of the client. */
  client: DialectName
  /** Dialect of the upstream. */
  upstream: DialectName
  stream: boolean
}

/** All nine pairs, as JSON and as streams. */
export const PAIRS: Pair[] = DIALECTS.flatMap((client) =>
  DIALECTS.flatMap((upstream) => [false, true].map((stream) => ({ client, upstream, stream }))),
)

export const nameOf = ({ client, upstream, stream }: Pair) =>
  `${client} over ${upstream}${stream ? ', stream' : ''}`

export interface Bench {
  gateway: RunningGateway
  upstreams: Record<DialectName, ScriptedUpstream>
  /** Sends a request that makes the pair's upstream produce the fault `model`. */
  ask(pair: Pair, model: string, more?: object): Promise<Answer>
  /** The same, but resolves with the headers of the answer. */
  begin(pair: Pair, model: string): Promise<IncomingMessage>
  stop(): Promise<void>
}

/**
 * Model `<dialect>/<fault>` goes to the upstream of that dialect. Faults whose names begin with `slow-` use channels with
 * short timeouts. `credit`: dollars of the account.
 */
export async function startBench(faults: readonly Fault[], credit = '100'): Promise<Bench> {
  const byName = new Map(faults.map((fault) => [fault.name, fault]))
  const upstreamOf = (dialect: DialectName) =>
    startUpstream(async (call, res) => {
      const { model, stream = false } = JSON.parse(call.body.toString()) as Record<string, unknown>
      const context: FaultContext = { res, fixture: UPSTREAM_FIXTURES[dialect], stream: stream === true }
      await byName.get(String(model))?.play(context)
    })
  const [chat, responses, messages] = await Promise.all([
    upstreamOf('chat'),
    upstreamOf('responses'),
    upstreamOf('messages'),
  ])
  const upstreams = { chat, responses, messages }
  const closed = await closedPort()
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'up' },
    stringData: { key: UPSTREAM_KEY },
  }
  const once = { retry: { attempts: 1 }, price: { input: '1', output: '2', perRequest: '0.001' } }
  const resources = DIALECTS.map((dialect) => {
    const { type } = UPSTREAM_FIXTURES[dialect]
    const { baseURL } = upstreams[dialect]
    const spec = { type, ejection: { consecutiveFailures: 0 }, secretRef: { name: 'up' } }
    const patient = { timeouts: { firstByte: '8s', idle: '8s', total: '15s' } }
    const hasty = { timeouts: { firstByte: '300ms', idle: '250ms', total: '600ms' } }
    return [
      channel(`${dialect}-patient`, baseURL, { ...spec, ...patient }),
      channel(`${dialect}-hasty`, baseURL, { ...spec, ...hasty }),
      channel(`${dialect}-closed`, `http://127.0.0.1:${closed}/v1`, spec),
      route(dialect, `${dialect}/*`, [`${dialect}-patient`], once),
      route(`${dialect}-slow`, `${dialect}/slow-*`, [{ name: `${dialect}-hasty`, model: 'slow-*' }], once),
      route(`${dialect}-closed`, `${dialect}/closed`, [`${dialect}-closed`], once),
    ].join('')
  })
  const paid = { accountRef: { name: 'payer' } }
  const gateway = await startGateway(
    {
      'all.yaml': [documents(secret), ...resources, account('payer', credit), apiKey('key', KEY, paid)].join(
        '',
      ),
    },
    {
      SLUICE_MAX_EVENT_BYTES: String(MAX_EVENT_BYTES),
      SLUICE_MAX_ANSWER_BYTES: String(MAX_ANSWER_BYTES),
      SLUICE_LOG_UPSTREAM_BODIES: 'redacted',
    },
  )
  const request = ({ client, upstream, stream }: Pair, model: string, more: object = {}) => ({
    url: gateway.base + ENDPOINTS[client].path,
    options: {
      headers: jsonHeaders(KEY),
      body: JSON.stringify({ ...requestOf(client, stream), model: `${upstream}/${model}`, ...more }),
    },
  })
  return {
    gateway,
    upstreams,
    ask(pair, model, more) {
      const { url, options } = request(pair, model, more)
      return call(url, options)
    },
    begin(pair, model) {
      const { url, options } = request(pair, model)
      return open(url, options)
    },
    async stop() {
      await gateway.stop()
      await Promise.all(DIALECTS.map((dialect) => upstreams[dialect].close()))
    },
  }
}

/** A minimal request of a dialect. */
export function requestOf(dialect: DialectName, stream: boolean): object {
  const messages = [{ role: 'user', content: 'Hello' }]
  switch (dialect) {
    case 'chat':
      return { messages, stream, ...(stream && { stream_options: { include_usage: true } }) }
    case 'responses':
      return { input: 'Hello', stream }
    case 'messages':
      return { messages, stream, max_tokens: 1_000 }
  }
}

/** The upstream secrets that an answer reveals. */
export function leaksIn({ text, headers }: Answer, { upstreams }: Bench): string[] {
  const all = text + JSON.stringify(headers)
  const hosts = DIALECTS.map((dialect) => new URL(upstreams[dialect].baseURL).host)
  return [CANARY, UPSTREAM_KEY, '127.0.0.1', ...hosts].filter((secret) => all.includes(secret))
}

/** A port on which no server listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}
