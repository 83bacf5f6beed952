/**
 * A client continues with another upstream, or another account uses the conversation: vendor state reaches only the
 * upstream that made it, and the conversation continues.
 */
import assert from 'node:assert/strict'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ENDPOINTS } from '../../../contract/endpoints.ts'
import { isRecord, tryParse } from '../../../proxy/dialects/core/json/value.ts'
import { type DialectName, UPSTREAM_FIXTURES } from '../../fixtures/faults/index.ts'
import { type RunningGateway, startGateway } from '../../harness/gateway.ts'
import { type Answer, call, jsonHeaders } from '../../harness/http.ts'
import { account, apiKey, channel, route } from '../../harness/resources.ts'
import { json, type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'
import { DIALECTS, requestOf } from './bench.ts'
import { nextTurn, STATE, THINKING } from './carried-state.ts'

const KEYS = { owner: 'sk-carried-owner-0123456789', sibling: 'sk-carried-sibling-0123456789' }
const STRANGER = 'sk-carried-stranger-0123456789'
/** Losses of carried state. */
const LOST = /reasoning|signature|encrypted_content/

let gateway: RunningGateway
let upstreams: Record<DialectName, ScriptedUpstream>

beforeAll(async () => {
  const [chat, responses, messages] = await Promise.all([startUpstream(), startUpstream(), startUpstream()])
  upstreams = { chat, responses, messages }
  const resources = DIALECTS.map(
    (dialect) =>
      channel(dialect, upstreams[dialect].baseURL, { type: UPSTREAM_FIXTURES[dialect].type }) +
      route(dialect, dialect, [dialect]),
  )
  const payer = { accountRef: { name: 'payer' } }
  gateway = await startGateway({
    'all.yaml': [
      ...resources,
      account('payer', '1'),
      account('other', '1'),
      apiKey('owner', KEYS.owner, payer),
      apiKey('sibling', KEYS.sibling, payer),
      apiKey('stranger', STRANGER, { accountRef: { name: 'other' } }),
    ].join(''),
  })
})

afterAll(async () => {
  await gateway?.stop()
  await Promise.all(DIALECTS.map((dialect) => upstreams[dialect].close()))
})

beforeEach(() => {
  for (const dialect of DIALECTS)
    upstreams[dialect].answer((_call, res) => json(res, 200, UPSTREAM_FIXTURES[dialect].whole()))
})

const ask = (client: DialectName, model: string, body: object, key = KEYS.owner): Promise<Answer> =>
  call(gateway.base + ENDPOINTS[client].path, {
    headers: jsonHeaders(key),
    body: JSON.stringify({ ...body, model }),
  })

/** The second turn of a conversation whose first turn carries state of `upstream`. */
async function conversation(client: DialectName, upstream: 'responses' | 'messages'): Promise<object> {
  upstreams[upstream].answer((_call, res) => json(res, 200, THINKING[upstream]))
  const first = tryParse((await ask(client, upstream, requestOf(client, false))).text)
  assert(isRecord(first))
  upstreams[upstream].answer((_call, res) => json(res, 200, UPSTREAM_FIXTURES[upstream].whole()))
  return nextTurn(client, first, false)
}

const lastSent = (upstream: DialectName) => String(upstreams[upstream].calls.at(-1)?.body)

const CELLS = (['responses', 'messages'] as const).flatMap((upstream) =>
  DIALECTS.filter((client) => client !== upstream).map((client) => ({ client, upstream })),
)

describe.each(CELLS)('$client with state of $upstream', ({ client, upstream }) => {
  it('returns the state to the upstream, for every key of the account', async () => {
    const body = await conversation(client, upstream)
    expect(JSON.stringify(body)).toContain('slc1.')
    for (const key of Object.values(KEYS)) {
      expect((await ask(client, upstream, body, key)).status).toBe(200)
      expect(lastSent(upstream)).toContain(STATE)
      expect(lastSent(upstream)).not.toContain('slc1.')
    }
  })

  it('drops the state for another account', async () => {
    const answer = await ask(client, upstream, await conversation(client, upstream), STRANGER)
    expect(answer.status).toBe(200)
    expect(lastSent(upstream)).not.toMatch(new RegExp(`${STATE}|slc1\\.`))
    expect(answer.headers['x-sluice-dropped']).toMatch(LOST)
  })

  it.each(DIALECTS.filter((other) => other !== upstream))(
    'does not send the state to an upstream of %s',
    async (other) => {
      const body = await conversation(client, upstream)
      const answer = await ask(client, other, body)
      expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('three')])
      expect(lastSent(other)).not.toMatch(new RegExp(`${STATE}|slc1\\.`))
      expect(answer.headers['x-sluice-dropped']).toMatch(LOST)
      expect((await ask(client, upstream, body)).status).toBe(200)
      expect(lastSent(upstream)).toContain(STATE)
    },
  )
})
