/** Tests a gateway against its OpenAPI document: valid requests are answered as it says, invalid ones refused. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OPERATIONS } from '../../tools/generate/openapi/document.ts'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { call } from '../harness/http.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'
import { everyEndpoint } from './openapi-upstream.ts'
import { EXAMPLES, type Report, type Run, schemathesis } from './schemathesis.ts'

const KEY = 'sk-openapi-0123456789'
const TYPES = ['chat_completion', 'responses', 'messages', 'embeddings', 'images']
/** Several times the usual duration, for busy machines. */
const TIME_LIMIT_MS = 120_000 + EXAMPLES * 10_000
const UPSTREAM_KEY = { bearer: 'sk-upstream-0123456789' }
/** Succeeds only as an upgrade, which schemathesis does not send. */
const SOCKET = 'GET /v1/responses'

let upstream: ScriptedUpstream
beforeAll(async () => {
  upstream = await startUpstream(everyEndpoint)
})
afterAll(() => upstream?.close())

/** Every model has channels of all types; the type `first` has the highest priority. */
function gatewayOver(first: string): Promise<RunningGateway> {
  const types = [first, ...TYPES.filter((type) => type !== first)]
  const nameOf = (type: string) => type.replace('_', '-')
  const urlOf = (type: string) =>
    type === 'messages' ? upstream.baseURL.replace(/\/v1$/, '') : upstream.baseURL
  const resources = [
    apiKey('key', KEY),
    // A wildcard is not in the list of models.
    ...['*', 'listed'].map((model, i) =>
      route(
        `route-${i}`,
        model,
        types.map((type, priority) => ({ name: nameOf(type), priority })),
      ),
    ),
    ...types.map((type) => channel(nameOf(type), urlOf(type), { type })),
  ]
  return startGateway(
    { 'all.yaml': resources.join('') },
    // The relay calls only this upstream and no name server.
    {
      SLUICE_RELAY_MODE: 'allowlist',
      SLUICE_RELAY_ALLOW: new URL(upstream.baseURL).host,
      SLUICE_RELAY_RESOLVERS: '127.0.0.1:9',
    },
  )
}

/** Creates a response and returns its id. */
async function storedResponse({ base }: RunningGateway): Promise<string> {
  const answer = await call(`${base}/v1/responses`, {
    body: JSON.stringify({ model: 'example', input: 'Hello there' }),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
  })
  return (JSON.parse(answer.text) as { id: string }).id
}

const named = (operations: typeof OPERATIONS) =>
  operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`).sort()

/** Number of accepted valid requests of an operation. */
function accepted({ valid_rates }: Report, operation: string): number {
  return Object.values(valid_rates[operation] ?? {}).reduce((sum, phase) => sum + phase.accepted, 0)
}

const RUNS: { first: string; below: string; keys: Run['keys'] }[] = [
  { first: 'chat_completion', below: '', keys: { bearer: { bearer: KEY }, upstreamKey: UPSTREAM_KEY } },
  { first: 'responses', below: '/api', keys: { apiKey: { api_key: KEY } } },
  { first: 'messages', below: '', keys: { apiKey: { api_key: KEY }, upstreamKey: UPSTREAM_KEY } },
]

// Each run takes half a minute: `make test-all` has all of them.
describe.each(process.env.OPENAPI_EXAMPLES === undefined ? RUNS.slice(0, 1) : RUNS)(
  'over $first upstreams, below "$below"',
  ({ first, below, keys }) => {
    it(
      'answers requests as the document says',
      async () => {
        const gateway = await gatewayOver(first)
        try {
          const operations = OPERATIONS.filter(({ alone }) => below === '' || !alone)
          const report = await schemathesis({
            url: gateway.base + below,
            keys,
            args: below === '' ? [] : ['--exclude-operation-id', 'relay'],
            env: {
              RELAY_URL: `${upstream.baseURL}/chat/completions`,
              RESPONSE_ID: await storedResponse(gateway),
            },
          })
          expect(report).toMatchObject({
            complete: true,
            operations: { selected: operations.length, tested: operations.length, errored: 0 },
            phases: {
              examples: { status: 'success' },
              coverage: { status: 'success' },
              fuzzing: { status: 'success' },
            },
          })
          expect(Object.keys(report.valid_rates).sort()).toEqual(named(operations))
          expect(report.test_cases.generated).toBeGreaterThan(operations.length * EXAMPLES)
          const idle = named(operations).filter((name) => accepted(report, name) === 0)
          expect(idle).toEqual([SOCKET])
        } finally {
          await gateway.stop()
        }
        expect(gateway.output()).toMatch(/"level":"info","time"/)
        expect(gateway.output()).not.toMatch(/"level":"(error|fatal)"/)
        expect(gateway.output()).not.toContain(UPSTREAM_KEY.bearer)
      },
      TIME_LIMIT_MS,
    )
  },
)

it(
  'serves nothing without a key',
  async () => {
    const gateway = await gatewayOver('chat_completion')
    const calls = upstream.calls.length
    try {
      const report = await schemathesis({
        url: gateway.base,
        keys: {},
        args: ['--mode', 'positive', '--phases', 'examples,fuzzing'],
      })
      expect(report.operations).toMatchObject({ tested: OPERATIONS.length, errored: 0 })
      expect(report.test_cases.generated).toBeGreaterThan(OPERATIONS.length)
      expect(named(OPERATIONS).filter((name) => accepted(report, name) > 0)).toEqual([])
    } finally {
      await gateway.stop()
    }
    expect(upstream.calls.length).toBe(calls)
    const statuses = new Set(gateway.requests().map(({ status }) => status))
    expect(statuses).toContain(401)
    expect([...statuses].filter((status) => Number(status) < 400)).toEqual([])
  },
  TIME_LIMIT_MS,
)
