/** Limits of body contents, each at its bound. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FormEntry, formBody, MULTIPART, PNG } from '../../proxy/dialects/images/testing.ts'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { call, chatBody, expectError, jsonHeaders } from '../harness/http.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { chatAnswer, json, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-body-limits'
/** Larger forms are streamed to the upstream. */
const HELD_BYTES = 8_192

let gateway: RunningGateway
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = await startUpstream((call, res) =>
    call.path.includes('images')
      ? json(res, 200, { created: 1, data: [{ b64_json: PNG.toString('base64') }] })
      : chatAnswer()(call, res),
  )
  gateway = await startGateway(
    {
      'all.yaml':
        apiKey('caller', KEY) +
        channel('main', upstream.baseURL) +
        route('model', 'm', ['main']) +
        channel('images', upstream.baseURL, { type: 'images' }) +
        route('image', 'p', ['images']),
    },
    {
      SLUICE_MAX_BODY_BYTES: String(HELD_BYTES),
      SLUICE_MAX_JSON_VALUES: '20',
      SLUICE_MAX_FORM_PARTS: '6',
      SLUICE_MAX_FORM_FILES: '2',
      SLUICE_MAX_FILE_BYTES: '20000',
      SLUICE_MAX_FIELD_BYTES: '1024',
    },
  )
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

describe('JSON', () => {
  it.each<[string, (numbers: number) => object]>([
    // The body has five more values: model, messages, message, role and content.
    ['numbers', (numbers) => ({ extra: Array(numbers).fill(1) })],
    ['texts', (numbers) => ({ extra: Array(numbers).fill('') })],
  ])('allows no more values than the limit: %s', async (_what, extra) => {
    const post = (numbers: number) =>
      call(`${gateway.base}/v1/chat/completions`, {
        body: chatBody('m', extra(numbers)),
        headers: jsonHeaders(KEY),
      })
    expect((await post(14)).status).toBe(200)
    expectError(await post(15), 400, 'invalid_request')
  })
})

describe.each([
  ['held', 50],
  ['streamed', HELD_BYTES],
])('a form that is %s', (_lane, size) => {
  const image = (bytes: number, name = 'image'): FormEntry => [
    name,
    Buffer.concat([PNG, Buffer.alloc(bytes)], bytes),
    'a.png',
    'image/png',
  ]
  const texts: FormEntry[] = [
    ['model', 'p'],
    ['prompt', 'A hat'],
  ]
  const post = (...more: FormEntry[]) =>
    call(`${gateway.base}/v1/images/edits`, {
      body: formBody([...texts, ...more]),
      headers: jsonHeaders(KEY, { 'content-type': MULTIPART }),
    })

  it('allows as many parts and files as the limits', async () => {
    const user: FormEntry = ['user', 'u']
    const good = await post(image(size), image(50, 'mask'), user, ['quality', 'low'])
    expect(good.status).toBe(200)
    const parts = await post(image(size), user, ['a', 'x'], ['b', 'x'], ['c', 'x'])
    expectError(parts, 400, 'invalid_request')
    const files = await post(image(size), image(50, 'image'), image(50, 'image'))
    expectError(files, 400, 'invalid_request', 'image')
  })

  it('allows no larger text than the limit', async () => {
    expect((await post(image(size), ['user', 'x'.repeat(1_024)])).status).toBe(200)
    expectError(await post(image(size), ['user', 'x'.repeat(1_025)]), 413, 'request_too_large', 'user')
  })

  it('allows no larger file than the limit', async () => {
    expect((await post(image(20_000))).status).toBe(200)
    expectError(await post(image(20_001)), 413, 'request_too_large', 'image')
  })
})
