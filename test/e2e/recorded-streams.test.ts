/**
 * Replays recorded streams of real upstreams. They are not part of this repository: the variable RECORDINGS names a folder
 * with `chat/*.sse`.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { call, chatBody, eventData, jsonHeaders } from '../harness/http.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { CHUNKINGS, DONE, expectBroken, sse } from '../harness/sse.ts'
import { type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-recorded-streams'
const folder = join(process.env.RECORDINGS ?? '', 'chat')
const files = process.env.RECORDINGS ? readdirSync(folder).filter((name) => name.endsWith('.sse')) : []

let gateway: RunningGateway
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = await startUpstream()
  gateway = await startGateway({
    'all.yaml': apiKey('caller', KEY) + channel('main', upstream.baseURL) + route('one', 'm', ['main']),
  })
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

async function stream(more: object = {}): Promise<string> {
  const body = chatBody('m', { stream: true, ...more })
  const { text } = await call(`${gateway.base}/v1/chat/completions`, { body, headers: jsonHeaders(KEY) })
  // The gateway drops comments before the first event unless they arrive together with it.
  return withoutFirstComments(text)
}

/** The recorded error is an `invalid_request_error`, which the gateway forwards as a client error. */
const CLIENT_ERROR = { type: 'invalid_request_error', code: 'invalid_request' }

const withoutFirstComments = (text: string) => text.replace(/^(?::[^\n]*\n\n)+/, '')

it(
  process.env.RECORDINGS
    ? `${files.length} recordings are available`
    : 'RECORDINGS is not set: none is replayed',
  () => {
    expect(files.length > 0).toBe(Boolean(process.env.RECORDINGS))
  },
)

it.each(files.flatMap((file) => CHUNKINGS.map(([name, cut]) => [file, name, cut] as const)))(
  '%s in %s',
  async (file, _name, cut) => {
    const bytes = readFileSync(join(folder, file))
    upstream.answer(sse(cut(bytes)))
    const text = withoutFirstComments(bytes.toString())
    const withUsage = await stream({ stream_options: { include_usage: true } })
    const error = /(?:event: error\n)?data: \{"error":/.exec(text)
    if (error === null) expect(withUsage).toBe(text.includes('[DONE]') ? text : text + DONE)
    else expectBroken(withUsage, [text.slice(0, error.index)], CLIENT_ERROR)

    const withoutUsage = await stream()
    const expected = eventData(withUsage).filter((data) => !/"choices": ?\[\],.*"usage": ?\{/.test(data))
    expect(eventData(withoutUsage)).toEqual(expected)
  },
)
