/** Every refusal of the API, on both paths, as JSON and as a stream, and their precedence. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearer, chat, errorIn, expectSameRefusal, type Headers } from '../harness/chat-client.ts'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { chatBody } from '../harness/http.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const PAYING = 'sk-refusals-of-a-key-with-funds'

/** A key, its account and a request; each violation below changes one property. */
interface Plan {
  key: Record<string, unknown>
  account: Record<string, unknown>
  funds: string | undefined
  model: string
  headers: Headers
  /** Fields of the body to add, replace or (undefined) leave out. */
  more: object
}

interface Violation {
  /** Position in the order; refusals with the same position are not compared. */
  position: number
  status: number
  code: string
  message?: RegExp
  violate(plan: Plan): void
}

const VIOLATIONS: Record<string, Violation> = {
  'a disabled key': {
    position: 0,
    status: 401,
    code: 'unauthorized',
    violate: (p) => (p.key.disabled = true),
  },
  'a disabled account': {
    position: 1,
    status: 403,
    code: 'account_disabled',
    violate: (p) => (p.account.disabled = true),
  },
  'a wrong address': {
    position: 2,
    status: 403,
    code: 'ip_not_allowed',
    violate: (p) => (p.key.allowedIPs = ['192.0.2.0/24']),
  },
  'a body without messages': {
    position: 3,
    status: 400,
    code: 'invalid_request',
    violate: (p) => (p.more = { messages: undefined }),
  },
  'a body that is too large': {
    position: 3,
    status: 413,
    code: 'request_too_large',
    violate: (p) => (p.more = { user: 'x'.repeat(20_000) }),
  },
  'a wrong content type': {
    position: 3,
    status: 415,
    code: 'unsupported_media_type',
    violate: (p) => (p.headers = [['content-type', 'text/plain']]),
  },
  'a model that is not allowed': {
    position: 4,
    status: 403,
    code: 'model_not_allowed',
    violate: (p) => (p.key.models = ['another-*']),
  },
  'an empty balance': {
    position: 5,
    status: 402,
    code: 'insufficient_balance',
    message: /used up/,
    violate: (p) => (p.funds = undefined),
  },
  'a model without a route': {
    position: 6,
    status: 502,
    code: 'upstream_error',
    violate: (p) => (p.model = 'nowhere'),
  },
  'a balance below the hold': {
    position: 7,
    status: 402,
    code: 'insufficient_balance',
    message: /does not cover/,
    violate: (p) => (p.funds = '0.000000001'),
  },
}

/** Both violations in one plan; the earlier one is applied last, so that it wins if both change one property. */
const PAIRS = Object.entries(VIOLATIONS).flatMap(([first, a]) =>
  Object.entries(VIOLATIONS)
    .filter(([, b]) => b.position > a.position)
    .map(([second, b]) => ({ first, second, winner: a, plan: planOf([b, a]) })),
)
const ALONE = Object.entries(VIOLATIONS).map(([name, v]) => ({ name, violation: v, plan: planOf([v]) }))

function planOf(violations: Violation[]): Plan {
  const plan: Plan = { key: {}, account: {}, funds: '1000', model: 'dear', headers: [], more: {} }
  for (const violation of violations) violation.violate(plan)
  return plan
}

const secretOf = (name: string) => `sk-refusals-of-${name}-0123456789`

/** The resources of a plan: a key and an account of its own. */
const resourcesOf = (name: string, plan: Plan) =>
  apiKey(name, secretOf(name), { ...plan.key, accountRef: { name } }) +
  account(name, plan.funds, plan.account)

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await startUpstream()
  gateway = await startGateway(
    {
      'upstream.yaml': channel('good', upstream.baseURL),
      'routes.yaml':
        route('good', 'good', ['good']) +
        route('dear', 'dear', ['good'], { price: { input: '1000', output: '1000' } }),
      'keys.yaml':
        apiKey('paying', PAYING, { accountRef: { name: 'paying' } }) +
        account('paying', '1000') +
        apiKey('orphan', secretOf('orphan'), { accountRef: { name: 'absent' } }),
      'alone.yaml': ALONE.map(({ plan }, i) => resourcesOf(`alone-${i}`, plan)).join(''),
      'pairs.yaml': PAIRS.map(({ plan }, i) => resourcesOf(`pair-${i}`, plan)).join(''),
    },
    { SLUICE_MAX_BODY_BYTES: '16384' },
  )
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

function planned(name: string, { headers, model, more }: Plan): [Headers, string, object] {
  return [[...bearer(secretOf(name)), ...headers], model, more]
}

describe('each refusal', () => {
  it.each(ALONE.map((entry, i) => ({ ...entry, i })))('$name', async ({ violation, plan, i }) => {
    const before = upstream.calls.length
    const answer = await expectSameRefusal(gateway.base, ...planned(`alone-${i}`, plan))
    expect(answer.status).toBe(violation.status)
    const error = errorIn(answer.text)
    expect(error.code).toBe(violation.code)
    if (violation.message !== undefined) expect(error.message).toMatch(violation.message)
    const openaiType: Record<number, string> = { 402: 'insufficient_quota', 502: 'server_error' }
    expect(error.type).toBe(openaiType[violation.status] ?? 'invalid_request_error')
    const final = [401, 402, 502].includes(violation.status)
    expect(answer.headers['x-should-retry']).toBe(final ? 'false' : undefined)
    expect(upstream.calls.length).toBe(before)
  })

  it('a key whose account does not exist: 503 with Retry-After', async () => {
    const answer = await expectSameRefusal(gateway.base, bearer(secretOf('orphan')), 'good')
    expect(answer.status).toBe(503)
    expect(errorIn(answer.text)).toMatchObject({
      code: 'store_unavailable',
      type: 'service_unavailable_error',
    })
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    expect(answer.headers['x-should-retry']).toBeUndefined()
  })

  it('no funds on a free model: 402', async () => {
    const i = ALONE.findIndex(({ name }) => name === 'an empty balance')
    const answer = await expectSameRefusal(gateway.base, bearer(secretOf(`alone-${i}`)), 'good')
    expect(answer.status).toBe(402)
  })

  it('a valid request with funds: 200', async () => {
    const answer = await chat(gateway.base, bearer(PAYING), chatBody('dear', { max_tokens: 10 }))
    expect(answer.status).toBe(200)
  })
})

describe('of two refusals the earlier one wins', () => {
  it.each(PAIRS.map((pair, i) => ({ ...pair, i })))('$first before $second', async ({ winner, plan, i }) => {
    const [headers, model, more] = planned(`pair-${i}`, plan)
    const answer = await chat(gateway.base, headers, chatBody(model, more))
    expect([answer.status, errorIn(answer.text).code]).toEqual([winner.status, winner.code])
    if (winner.message !== undefined) expect(errorIn(answer.text).message).toMatch(winner.message)
  })
})
