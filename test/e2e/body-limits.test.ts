/** The settings that bound what a body may hold, each at its edge. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FormEntry, formBody, MULTIPART, PNG } from '../../proxy/dialects/images/testing.ts'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { call, chatBody, expectError, jsonHeaders } from '../harness/http.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { chatAnswer, json, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-body-limits'
/** Beyond, a form is passed on while it comes. */
const HELD_BYTES = 8_192

let gateway: RunningGateway
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = await startUpstream((asked, res) =>
    asked.path.includes('images')
      ? json(res, 200, { created: 1, data: [{ b64_json: PNG.toString('base64') }] })
      : chatAnswer()(asked, res),
  )
  gateway = await startGateway(
    {
      'all.yaml':
        apiKey('caller', KEY) +
        channel('main', upstream.baseURL) +
        route('model', 'm', ['main']) +
        channel('pictures', upstream.baseURL, { type: 'images' }) +
        route('picture', 'p', ['pictures']),
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
    // Five: the model, the list, the message, its role and its content.
    ['numbers', (numbers) => ({ extra: Array(numbers).fill(1) })],
    ['texts', (numbers) => ({ extra: Array(numbers).fill('') })],
  ])('has no more values than are allowed: %s', async (_what, extra) => {
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
  ['passed on', HELD_BYTES],
])('a form that is %s', (_way, size) => {
  const picture = (bytes: number, name = 'image'): FormEntry => [
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

  it('has as many parts and files as are allowed', async () => {
    const user: FormEntry = ['user', 'u']
    const good = await post(picture(size), picture(50, 'mask'), user, ['quality', 'low'])
    expect(good.status).toBe(200)
    const parts = await post(picture(size), user, ['a', 'x'], ['b', 'x'], ['c', 'x'])
    expectError(parts, 400, 'invalid_request')
    const files = await post(picture(size), picture(50, 'image'), picture(50, 'image'))
    expectError(files, 400, 'invalid_request', 'image')
  })

  it('has no larger text than is allowed', async () => {
    expect((await post(picture(size), ['user', 'x'.repeat(1_024)])).status).toBe(200)
    expectError(await post(picture(size), ['user', 'x'.repeat(1_025)]), 413, 'request_too_large', 'user')
  })

  it('has no larger file than is allowed', async () => {
    expect((await post(picture(20_000))).status).toBe(200)
    expectError(await post(picture(20_001)), 413, 'request_too_large', 'image')
  })
})
