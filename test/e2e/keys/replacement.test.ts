/** Replacing an API key and an upstream credential under traffic. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bearer, chat } from '../../harness/chat-client.ts'
import { digestOf } from '../../harness/fleet-traffic.ts'
import { type RunningGateway, startGateway, until } from '../../harness/gateway.ts'
import { chatBody, jsonHeaders, open, readAll } from '../../harness/http.ts'
import { apiKey, channel, documents, route } from '../../harness/resources.ts'
import { chatAnswer, chatEvents, type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'

const [OLD, NEW, STEADY] = ['sk-of-yesterday-0123456789', 'sk-of-tomorrow-0123456789', 'sk-steady-0123456789']
const MODEL = 'model'

let upstream: ScriptedUpstream
let gateway: RunningGateway
beforeAll(async () => {
  upstream = await startUpstream()
  gateway = await startGateway({
    'channel.yaml': channel('upstream', upstream.baseURL, { secretRef: { name: 'credential' } }),
    'credential.yaml': credential('credential-of-yesterday'),
    'route.yaml': route('route', MODEL, ['upstream']),
    'steady.yaml': apiKey('steady', STEADY),
  })
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

function credential(key: string): string {
  return documents({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'credential' },
    stringData: { key },
  })
}

const keyOf = (spec: object) =>
  documents({ apiVersion: 'sluice.dev/v1alpha1', kind: 'ApiKey', metadata: { name: 'replaced' }, spec })
const ask = async (key: string) => (await chat(gateway.base, bearer(key), chatBody(MODEL))).status

/** Sends requests in a loop; the returned function stops it and resolves with all statuses. */
function askUntilStopped(key: string) {
  const statuses = new Set<number>()
  let over = false
  const loop = (async () => {
    while (!over) statuses.add(await ask(key))
  })()
  return async () => {
    over = true
    await loop
    return statuses
  }
}

it('replaces a key without a failed request by listing both hashes for a while', async () => {
  gateway.write('replaced.yaml', keyOf({ hashes: [digestOf(OLD)] }))
  await until(async () => (await ask(OLD)) === 200, 'the old key')
  expect(await ask(NEW)).toBe(401)
  const old = askUntilStopped(OLD)
  gateway.write('replaced.yaml', keyOf({ hashes: [digestOf(OLD), digestOf(NEW)] }))
  await until(async () => (await ask(NEW)) === 200, 'the new key')
  expect([...(await old())]).toEqual([200])
  const current = askUntilStopped(NEW)
  gateway.write('replaced.yaml', keyOf({ hashes: [digestOf(NEW)] }))
  await until(async () => (await ask(OLD)) === 401, 'the end of the old key')
  expect([...(await current())]).toEqual([200])
})

it('a key expires at its time', async () => {
  const key = 'sk-of-two-seconds-0123456789'
  const expiresAt = Date.now() + 2_000
  gateway.write('ends.yaml', apiKey('ends', key, { expiresAt: new Date(expiresAt).toISOString() }))
  await until(async () => (await ask(key)) === 200, 'the key')
  await until(async () => {
    const sent = Date.now()
    const status = await ask(key)
    if (Date.now() < expiresAt) expect(status).toBe(200)
    if (sent >= expiresAt) expect(status).toBe(401)
    return sent >= expiresAt
  }, 'its expiry')
})

it('replaces an upstream credential: running requests finish, new ones use the new credential', async () => {
  const gate = Promise.withResolvers<void>()
  upstream.answer(async (_, res) => {
    const [first = '', ...rest] = chatEvents(MODEL, 'one two three', null)
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(first)
    await gate.promise
    res.end(`${rest.join('')}data: [DONE]\n\n`)
  })
  const body = chatBody(MODEL, { stream: true })
  const stream = await open(`${gateway.base}/v1/chat/completions`, { headers: jsonHeaders(STEADY), body })
  upstream.answer(chatAnswer())
  const sent = () => upstream.calls.map(({ headers }) => headers.authorization)
  expect(sent().at(-1)).toBe('Bearer credential-of-yesterday')
  const others = askUntilStopped(STEADY)
  gateway.write('credential.yaml', credential('credential-of-tomorrow'))
  const isNew = async () => sent().at(-1) === 'Bearer credential-of-tomorrow'
  await until(isNew, 'the new credential')
  const since = sent().lastIndexOf('Bearer credential-of-yesterday')
  expect([...(await others())]).toEqual([200])
  // The two credentials do not alternate.
  expect(sent().lastIndexOf('Bearer credential-of-yesterday')).toBeLessThanOrEqual(since + 1)
  gate.resolve()
  expect((await readAll(stream)).toString()).toMatch(/three[\s\S]*\[DONE\]/)
  expect(gateway.output()).not.toMatch(/credential-of-(yesterday|tomorrow)/)
})
