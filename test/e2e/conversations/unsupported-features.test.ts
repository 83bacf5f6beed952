/** Upstreams that refuse a feature get the request in another form, without using up an attempt. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../../harness/gateway.ts'
import { call } from '../../harness/http.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { json, type Script } from '../../harness/upstream.ts'
import { type EchoUpstream, echo, startEchoUpstream } from './echo-upstream.ts'

const KEY = 'sk-other-ways-0123456789'

let native: EchoUpstream
let spare: EchoUpstream
let gateway: RunningGateway

beforeAll(async () => {
  native = await startEchoUpstream()
  spare = await startEchoUpstream()
  const eager = { ejection: { consecutiveFailures: 2 } }
  gateway = await startGateway({
    'all.yaml': [
      apiKey('key', KEY),
      channel('native', native.baseURL, { type: 'responses', ...eager }),
      channel('spare', spare.baseURL, { type: 'chat_completion' }),
      route('alone', 'alone', ['native']),
      route('once', 'once', ['native'], { retry: { attempts: 1 } }),
      route('pair', 'pair', [
        { name: 'native', priority: 0 },
        { name: 'spare', priority: 1 },
      ]),
    ].join(''),
  })
})
afterAll(async () => {
  await gateway?.stop()
  await native?.close()
  await spare?.close()
})
beforeEach(() => {
  native.answer(echo(native.stored))
  native.calls.length = 0
  spare.calls.length = 0
})

async function post(path: string, body: object) {
  const { status, text } = await call(`${gateway.base}/v1/${path}`, {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
  })
  return { status, body: JSON.parse(text) as { id: string; output: { type: string }[]; error: object } }
}

/** Refuses the calls that `matches`, and echoes the others. */
const refuses =
  (status: number, error: object, matches: (path: string, body: string) => boolean): Script =>
  (call, res) =>
    matches(call.path, call.body.toString()) ? json(res, status, { error }) : echo(native.stored)(call, res)

describe.each([400, 404, 405, 422, 501])('an upstream that answers a compaction with %i', (status) => {
  const error = { message: 'Not Found', type: 'not_found', code: null, param: null }

  it.each(['alone', 'once'])('gets a request for a summary (%s)', async (model) => {
    native.answer(refuses(status, error, (path) => path.endsWith('/compact')))
    const answer = await post('responses/compact', { model, input: 'Hi' })
    expect(answer).toMatchObject({ status: 200 })
    expect(answer.body.output.map(({ type }) => type)).toEqual(['message', 'compaction'])
    expect(native.calls.map(({ path }) => path)).toEqual(['/v1/responses/compact', '/v1/responses'])
  })

  it('also as an input item, which does not count against the channel', async () => {
    native.answer(refuses(status, error, (_, body) => body.includes('compaction_trigger')))
    const input = [{ role: 'user', content: 'Hi' }, { type: 'compaction_trigger' }]
    for (let i = 0; i < 4; i++) {
      const answer = await post('responses', { model: 'pair', input })
      expect(answer.body.output.map(({ type }) => type)).toEqual(['compaction'])
    }
    expect(spare.calls).toEqual([])
  })
})

describe.each([
  [
    404,
    { message: "Response with id 'resp_x' not found.", type: 'invalid_request_error', param: 'response_id' },
  ],
  [
    400,
    { message: "Invalid 'response_id': 'x'. Expected an ID that begins with 'resp'.", param: 'response_id' },
  ],
  [400, { message: 'No', code: 'previous_response_not_found', param: 'previous_response_id' }],
  [404, { message: 'Not Found' }],
] as const)('an upstream that stores nothing and answers %i %o', (status, error) => {
  const forgets = refuses(status, error, (_, body) => body.includes('previous_response_id'))

  it.each(['alone', 'once', 'pair'])('gets the whole conversation (%s)', async (model) => {
    native.answer(forgets)
    let last: string | undefined
    for (const text of ['one', 'two', 'three']) {
      const more = last === undefined ? {} : { previous_response_id: last }
      const { status: answered, body } = await post('responses', { model, input: text, ...more })
      expect(answered).toBe(200)
      last = body.id
    }
    expect(JSON.stringify(native.last().input)).toMatch(/one.*two.*three/)
    expect(spare.calls).toEqual([])
  })

  it('falls over if it then fails', async () => {
    native.answer(forgets)
    const { body } = await post('responses', { model: 'pair', input: 'one' })
    native.answer((call, res) =>
      call.body.includes('previous_response_id') ? forgets(call, res) : void res.writeHead(500).end(),
    )
    expect(
      await post('responses', { model: 'pair', input: 'two', previous_response_id: body.id }),
    ).toMatchObject({
      status: 200,
    })
    expect(JSON.stringify(spare.last().messages)).toMatch(/one.*two/)
  })
})
