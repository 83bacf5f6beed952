/**
 * An upstream's 400 may be the gateway's fault: a refused request is sent once more without the refused vendor state, or
 * once to a channel of the client's dialect, and not again.
 */
import assert from 'node:assert/strict'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ENDPOINTS } from '../../../contract/endpoints.ts'
import { isRecord, tryParse } from '../../../proxy/dialects/core/json/value.ts'
import { specEvents } from '../../conformance/dialects/sse.ts'
import { type DialectName, UPSTREAM_FIXTURES } from '../../fixtures/faults/index.ts'
import { event } from '../../fixtures/faults/upstream-fixture.ts'
import { type RunningGateway, startGateway } from '../../harness/gateway.ts'
import { type Answer, call, jsonHeaders } from '../../harness/http.ts'
import { balanceOf, lineOf, nanos } from '../../harness/ledger.ts'
import { account, apiKey, channel, route } from '../../harness/resources.ts'
import { json, type Script, type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'
import { DIALECTS, requestOf } from './bench.ts'
import { nextTurn, STATE, THINKING } from './carried-state.ts'
import { CANARY, stream } from './fault.ts'
import { errorCode } from './outcome.ts'

const KEY = 'sk-second-chance-0123456789'
const PRICE = '0.001'

let gateway: RunningGateway
let upstreams: Record<DialectName, ScriptedUpstream>

beforeAll(async () => {
  const [chat, responses, messages] = await Promise.all([startUpstream(), startUpstream(), startUpstream()])
  upstreams = { chat, responses, messages }
  const price = { price: { perRequest: PRICE } }
  const channels = DIALECTS.map((dialect) =>
    channel(dialect, upstreams[dialect].baseURL, {
      type: UPSTREAM_FIXTURES[dialect].type,
      ejection: { consecutiveFailures: 0 },
    }),
  )
  const routes = DIALECTS.flatMap((upstream) => [
    route(upstream, upstream, [upstream], price),
    ...DIALECTS.filter((client) => client !== upstream).map((client) =>
      route(
        `${upstream}-${client}`,
        `${upstream}/${client}`,
        [upstream, { name: client, priority: 1 }],
        price,
      ),
    ),
  ])
  gateway = await startGateway({
    'all.yaml': [
      ...channels,
      ...routes,
      account('payer', '10'),
      apiKey('key', KEY, { accountRef: { name: 'payer' } }),
    ].join(''),
  })
})

afterAll(async () => {
  await gateway?.stop()
  await Promise.all(DIALECTS.map((dialect) => upstreams[dialect].close()))
})

beforeEach(() => {
  for (const dialect of DIALECTS) upstreams[dialect].calls.length = 0
})

const ask = (client: DialectName, model: string, body: object): Promise<Answer> =>
  call(gateway.base + ENDPOINTS[client].path, {
    headers: jsonHeaders(KEY),
    body: JSON.stringify({ ...body, model }),
  })

const sentTo = (dialect: DialectName) => upstreams[dialect].calls.map(({ body }) => body.toString())

/** Errors with which the upstreams refuse vendor state. */
const REFUSAL: Record<'responses' | 'messages', object> = {
  responses: {
    error: {
      message: `The encrypted content ${CANARY} could not be verified. Reason: Encrypted content could not be decrypted.`,
      type: 'invalid_request_error',
      param: null,
      code: 'invalid_encrypted_content',
    },
  },
  messages: {
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: `messages.1.content.0: Invalid \`signature\` in \`thinking\` block ${CANARY}`,
    },
  },
}

const refusesState =
  (upstream: 'responses' | 'messages'): Script =>
  async (call, res) => {
    const body = call.body.toString()
    if (body.includes(STATE)) return json(res, 400, REFUSAL[upstream])
    if (tryParse(body) === undefined || !/"stream":true/.test(body))
      return json(res, 200, UPSTREAM_FIXTURES[upstream].whole())
    const { begin, body: deltas, end } = UPSTREAM_FIXTURES[upstream].frames()
    await stream(res, [...begin, ...deltas, ...end])
  }

const UPSTREAMS = ['responses', 'messages'] as const
const CELLS = UPSTREAMS.flatMap((upstream) =>
  DIALECTS.filter((client) => client !== upstream).flatMap((client) =>
    [false, true].map((streamed) => ({ client, upstream, streamed })),
  ),
)

describe('refused vendor state', () => {
  it.each(CELLS)('$client over $upstream, stream $streamed', async ({ client, upstream, streamed }) => {
    upstreams[upstream].answer((_call, res) => json(res, 200, THINKING[upstream]))
    const first = tryParse((await ask(client, upstream, requestOf(client, false))).text)
    assert(isRecord(first))
    expect(JSON.stringify(first)).not.toContain(STATE)

    upstreams[upstream].answer(refusesState(upstream))
    const before = await balanceOf(gateway, 'payer')
    const answer = await ask(client, upstream, nextTurn(client, first, streamed))
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('three')])
    const [, refused, taken, ...more] = sentTo(upstream)
    expect(refused).toContain(STATE)
    expect(taken).not.toContain(STATE)
    expect(more).toEqual([])
    expect(answer.headers['x-sluice-dropped']).toMatch(/reasoning|signature|encrypted_content/)

    await lineOf(gateway, answer)
    const { balance, held } = await balanceOf(gateway, 'payer')
    expect([before.balance - balance, held]).toEqual([nanos(PRICE), 0])
  })

  it.each(UPSTREAMS)('%s: a client of the same dialect gets the error', async (upstream) => {
    upstreams[upstream].answer((_call, res) => json(res, 200, THINKING[upstream]))
    const first = tryParse((await ask(upstream, upstream, requestOf(upstream, false))).text)
    assert(isRecord(first))
    upstreams[upstream].answer(refusesState(upstream))
    const answer = await ask(upstream, upstream, nextTurn(upstream, first, false))
    expect([answer.status, errorCode(upstream, tryParse(answer.text))]).toEqual([400, 'invalid_request'])
    expect(answer.text).toMatch(/signature|encrypted content/)
    expect(answer.text).not.toContain(CANARY)
    expect(sentTo(upstream)).toHaveLength(2)
  })

  it.each(UPSTREAMS)('%s: is not sent a third time after two refusals', async (upstream) => {
    upstreams[upstream].answer((_call, res) => json(res, 400, REFUSAL[upstream]))
    const answer = await ask('chat', upstream, requestOf('chat', false))
    expect([answer.status, errorCode('chat', tryParse(answer.text))]).toEqual([400, 'invalid_request'])
    expect(answer.text).not.toContain(CANARY)
    expect(sentTo(upstream)).toHaveLength(2)
  })
})

const INVALID = (upstream: DialectName): Script => {
  const error = { message: `bad ${CANARY}`, type: 'invalid_request_error' }
  const body =
    upstream === 'messages' ? { type: 'error', error } : { error: { ...error, param: null, code: null } }
  return (_call, res) => json(res, 400, body)
}
const PAIRS = DIALECTS.flatMap((upstream) =>
  DIALECTS.filter((client) => client !== upstream).map((client) => ({ client, upstream })),
)

describe('a converted request that the upstream calls invalid', () => {
  it.each(PAIRS)(
    '$client over $upstream: falls over once to a channel of the client’s dialect',
    async ({ client, upstream }) => {
      upstreams[upstream].answer(INVALID(upstream))
      upstreams[client].answer((_call, res) => json(res, 200, UPSTREAM_FIXTURES[client].whole()))
      const answer = await ask(client, `${upstream}/${client}`, requestOf(client, false))
      expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('three')])
      expect([sentTo(upstream).length, sentTo(client).length]).toEqual([1, 1])
    },
  )

  it.each(PAIRS)('$client over $upstream: the client gets the second 400', async ({ client, upstream }) => {
    upstreams[upstream].answer(INVALID(upstream))
    upstreams[client].answer(INVALID(client))
    const answer = await ask(client, `${upstream}/${client}`, requestOf(client, false))
    expect([answer.status, errorCode(client, tryParse(answer.text))]).toEqual([400, 'invalid_request'])
    expect(answer.text).not.toContain(CANARY)
    expect([sentTo(upstream).length, sentTo(client).length]).toEqual([1, 1])
  })

  it.each(PAIRS)(
    '$client over $upstream: without such a channel the client gets the 400',
    async ({ client, upstream }) => {
      upstreams[upstream].answer(INVALID(upstream))
      const answer = await ask(client, upstream, requestOf(client, true))
      expect([answer.status, errorCode(client, tryParse(answer.text))]).toEqual([400, 'invalid_request'])
      expect(sentTo(upstream)).toHaveLength(1)
    },
  )
})

describe('a failure before the first event falls over', () => {
  it.each(PAIRS)('$client over $upstream', async ({ client, upstream }) => {
    upstreams[upstream].answer((_call, res) =>
      stream(res, [': hello\n\n', UPSTREAM_FIXTURES[upstream].errorFrame(CANARY)]),
    )
    const { begin, body, end } = UPSTREAM_FIXTURES[client].frames()
    upstreams[client].answer((_call, res) => stream(res, [...begin, ...body, ...end]))
    const answer = await ask(client, `${upstream}/${client}`, requestOf(client, true))
    expect([answer.status, answer.text.includes(CANARY)]).toEqual([200, false])
    expect(answer.text).toContain('three')
  })

  it.each(PAIRS)('$client over $upstream: but not after it', async ({ client, upstream }) => {
    const frames = UPSTREAM_FIXTURES[upstream].frames()
    const broken = [
      ...frames.begin,
      ...frames.body.slice(0, 2),
      event({ type: 'x' }),
      UPSTREAM_FIXTURES[upstream].errorFrame(CANARY),
    ]
    upstreams[upstream].answer((_call, res) => stream(res, broken))
    const answer = await ask(client, `${upstream}/${client}`, requestOf(client, true))
    expect(sentTo(client)).toEqual([])
    const last = tryParse(specEvents(answer.text).at(-1)?.data ?? '')
    expect(JSON.stringify(last)).toContain('upstream_error')
    expect(answer.text).not.toContain(CANARY)
  })
})
