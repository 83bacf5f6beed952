/** Who used what: `sluice usage`, GET /v1/usage, the metrics and the ledger say the same. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../harness/http.ts'
import { balanceOf } from '../harness/ledger.ts'
import { startSluice } from '../harness/program.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { chatAnswer, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const keyOf = (name: string) => `sk-of-${name}-0123456789abcdef`
/** Dollars per million tokens: an answer of the upstream has 10 tokens of input and 5 of output. */
const PRICE = { input: '2', output: '10', perRequest: '0.000001' }
const COST = { input: '1', output: '4' }

let upstream: ScriptedUpstream
let broken: ScriptedUpstream
let gateway: RunningGateway
beforeAll(async () => {
  upstream = await startUpstream(chatAnswer())
  broken = await startUpstream((_call, res) => void res.writeHead(500).end())
  gateway = await startGateway({
    'all.yaml':
      account('class', '100') +
      account('student', undefined, { parent: { name: 'class' }, budget: { amount: '5' } }) +
      apiKey('alice', keyOf('alice'), {
        accountRef: { name: 'class' },
        limits: { requestsPerDay: 100, models: { 'm*': { concurrentRequests: 3 } } },
      }) +
      apiKey('bob', keyOf('bob'), { accountRef: { name: 'student' } }) +
      apiKey('free', keyOf('free'), {}) +
      apiKey('poor', keyOf('poor'), { accountRef: { name: 'poor' } }) +
      account('poor', undefined) +
      channel('main', upstream.baseURL) +
      channel('broken', broken.baseURL) +
      route('m-route', 'm', [{ name: 'main', cost: COST }], { price: PRICE }) +
      route('b-route', 'bad', ['broken'], { price: PRICE, retry: { attempts: 1 } }),
  })
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
  await broken?.close()
})

async function ask(name: string, model = 'm', headers: Record<string, string> = {}): Promise<number> {
  const answer = await call(`${gateway.base}/v1/chat/completions`, {
    body: chatBody(model),
    headers: { ...jsonHeaders(keyOf(name)), ...headers },
  })
  return answer.status
}

interface Line {
  of: Record<string, string>
  counts: Record<string, number | string>
}
async function usage(...args: string[]): Promise<{ lines: Line[]; total: Record<string, number | string> }> {
  const program = startSluice({ SLUICE_ADMIN_URLS: gateway.admin }, ['usage', ...args, '-o', 'json'])
  expect(await program.exited, program.output()).toBe(0)
  return JSON.parse(program.output())
}

async function own(name: string, path = '/v1/usage') {
  const answer = await call(`${gateway.base}${path}`, { method: 'GET', headers: jsonHeaders(keyOf(name)) })
  return { status: answer.status, body: JSON.parse(answer.text) }
}

/** 10 x 2 + 5 x 10 millionths of a dollar, and one for the request. */
const EACH = 0.000071
const dollars = (count: number) => String(Number((EACH * count).toFixed(9)))

describe('after requests of several keys', () => {
  beforeAll(async () => {
    const tagged = { 'x-sluice-tag': 'project=blue, team=a' }
    for (let i = 0; i < 3; i++) expect(await ask('alice', 'm', tagged)).toBe(200)
    for (let i = 0; i < 2; i++) expect(await ask('bob')).toBe(200)
    expect(await ask('bob', 'm', { 'x-sluice-tag': 'project=red' })).toBe(200)
    expect(await ask('free')).toBe(200)
    expect(await ask('alice', 'bad')).toBe(502)
    expect(await ask('poor')).toBe(402)
  })

  test('sluice usage has requests, errors, tokens and costs by key and model', async () => {
    // Proxies count requests without an account every second.
    await until(async () => (await usage('--by', 'key,model')).lines.length === 4, 'all lines')
    const { lines } = await usage('--by', 'key,model')
    const found = lines.map(({ of, counts }) => [
      of.key,
      of.model,
      counts.requests,
      counts.errors ?? 0,
      counts.cost,
    ])
    expect(found).toEqual([
      ['default/alice', 'b-route', 1, 1, '0'],
      ['default/alice', 'm-route', 3, 0, dollars(3)],
      ['default/bob', 'm-route', 3, 0, dollars(3)],
      ['default/free', 'm-route', 1, 0, dollars(1)],
    ])
    const alice = lines.find(({ of }) => of.key === 'default/alice' && of.model === 'm-route')
    expect(alice?.counts).toMatchObject({ input: 30, output: 15 })
    // 10 + 5 x 4 millionths each.
    expect(alice?.counts).toMatchObject({ upstreamCost: '0.00009', margin: '0.000123' })
  })

  test('costs by account add up to what the ledger has charged', async () => {
    const { lines, total } = await usage('--by', 'account')
    const of = (name: string) => lines.find((line) => line.of.account === name)?.counts.cost
    expect([of('default/class'), of('default/student'), of('')]).toEqual([dollars(3), dollars(3), dollars(1)])
    expect(total.cost).toBe(dollars(7))
    const { balance } = await balanceOf(gateway, 'class')
    expect(balance).toBe(100e9 - 6 * 71_000)
    expect(await usage('--by', 'account')).toEqual({ ...(await usage('--by', 'account')) })
  })

  test('days without requests have none, and channels are named', async () => {
    expect((await usage('--since', 'yesterday', '--until', 'yesterday')).lines).toEqual([])
    const { lines } = await usage('--since', 'today', '--by', 'channel,day')
    expect(lines.map(({ of }) => of.channel)).toEqual(['', 'default/main'])
  })

  test('tags are added up by name and value', async () => {
    const { lines } = await usage('--by', 'tag')
    expect(lines.map(({ of, counts }) => [of.tag, counts.requests, counts.cost])).toEqual([
      ['project=blue', 3, dollars(3)],
      ['project=red', 1, dollars(1)],
      ['team=a', 3, dollars(3)],
    ])
    const program = startSluice({ SLUICE_ADMIN_URLS: gateway.admin }, ['usage', '--by', 'tag,key'])
    expect([await program.exited, program.output()]).toEqual([
      1,
      expect.stringContaining('by account and day alone'),
    ])
  })

  test('CSV and a table for people', async () => {
    const print = async (...args: string[]) => {
      const program = startSluice({ SLUICE_ADMIN_URLS: gateway.admin }, ['usage', '--by', 'key', ...args])
      expect(await program.exited).toBe(0)
      return program.output()
    }
    expect(await print('-o', 'csv')).toMatch(/^key,cost,errors,input,.*\r?\ndefault\/alice,0.000213,1,30,/)
    const noDay = ['--since', '2020-01-01', '--until', '2020-01-01']
    expect(await print('-o', 'csv', ...noDay)).toBe('key,cost,input,output,requests\n')
    expect(await print()).toMatch(/^KEY +REQUESTS +ERRORS +INPUT .*COST.*\ntotal +8 /s)
  })

  test('a key sees its own usage by day and model, and nothing of others', async () => {
    const { body } = await own('alice')
    const today = new Date().toISOString().slice(0, 10)
    expect(body).toMatchObject({
      object: 'usage',
      key: 'alice',
      account: 'class',
      balance: String(Number((100 - EACH * 6).toFixed(9))),
      held: '0',
      models: expect.arrayContaining(['m', 'bad']),
    })
    expect(body.days).toEqual([
      { date: today, model: 'bad', requests: 1, errors: 1, cost: '0', tokens: {} },
      {
        date: today,
        model: 'm',
        requests: 3,
        errors: 0,
        cost: dollars(3),
        tokens: { input: 30, output: 15 },
      },
    ])
    expect(body.limits).toEqual([
      { of: 'key', kind: 'requests', limit: 100, window_seconds: 86_400, left: 96 },
      { of: 'key', kind: 'concurrent', model: 'm*', limit: 3, left: 3 },
    ])
  })

  test('an allowance that renews is shown with what is left', async () => {
    const { body } = await own('bob', '/api/v1/usage')
    expect(body.balance).toBeUndefined()
    expect(body.budgets).toEqual([
      {
        ...{
          of: 'account',
          amount: '5',
          spent: dollars(3),
          left: String(5 - Number(dollars(3))),
          period: 'month',
        },
        renews_at: expect.stringMatching(/-01T00:00:00.000Z$/),
      },
    ])
  })

  test('works with an empty balance, and for a key without an account', async () => {
    expect((await own('poor')).body).toMatchObject({ balance: '0', days: [] })
    expect((await own('free')).body).toMatchObject({ budgets: [], limits: [], days: [{ requests: 1 }] })
  })

  test('days can be chosen; others than days are refused', async () => {
    expect((await own('alice', '/v1/usage?since=2020-01-01&until=2020-01-31')).body.days).toEqual([])
    for (const query of ['since=yesterday', 'until=2026-02-30x'])
      expect((await own('alice', `/v1/usage?${query}`)).status).toBe(400)
    // Of a longer time, the last days are shown.
    const { body } = await own('alice', '/v1/usage?since=2020-01-01&until=2020-12-31')
    expect([body.since, body.until]).toEqual(['2020-10-01', '2020-12-31'])
    expect((await own('alice', '/v1/usage?since=2030-01-02&until=2030-01-01')).body.days).toEqual([])
    const unknown = await call(`${gateway.base}/v1/usage`, {
      method: 'GET',
      headers: jsonHeaders('sk-unknown'),
    })
    expect(unknown.status).toBe(401)
  })

  test('metrics have costs and tokens', async () => {
    const { text } = await call(`${gateway.admin}/metrics`)
    expect(text).toContain('sluice_cost_dollars_total{model="m-route",channel="default/main"} ')
    const [, cost] =
      /sluice_cost_dollars_total\{model="m-route",channel="default\/main"\} (.*)/.exec(text) ?? []
    expect(Number(cost)).toBeCloseTo(7 * EACH, 9)
    expect(text).toContain('sluice_tokens_total{kind="input"} 70')
  })
})

describe('a tag', () => {
  test.each([
    'Project=blue',
    'project',
    'project=',
    'a=b=c',
    'a=1,a=2',
    'a=1,b=2,c=3,d=4,e=5',
    `a=${'x'.repeat(65)}`,
    'a=ü',
  ])('of another form is refused, and no request is sent: %s', async (tag) => {
    const before = upstream.calls.length
    expect(await ask('free', 'm', { 'x-sluice-tag': Buffer.from(tag).toString('latin1') })).toBe(400)
    expect(upstream.calls.length).toBe(before)
  })
})
