/**
 * Streams that real upstreams sent, replayed. They are no part of this repository: the variable RECORDINGS names a
 * folder with `chat/*.sse`.
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
  // Comments ahead of the first event are dropped unless they come together with it.
  return withoutFirstComments(text)
}

/** The recorded error says `invalid_request_error`; a caller hears of its own fault. */
const CALLERS_FAULT = { type: 'invalid_request_error', code: 'invalid_request' }

const withoutFirstComments = (text: string) => text.replace(/^(?::[^\n]*\n\n)+/, '')

it(
  process.env.RECORDINGS
    ? `${files.length} recordings are at hand`
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
    const asked = await stream({ stream_options: { include_usage: true } })
    const error = /(?:event: error\n)?data: \{"error":/.exec(text)
    if (error === null) expect(asked).toBe(text.includes('[DONE]') ? text : text + DONE)
    else expectBroken(asked, [text.slice(0, error.index)], CALLERS_FAULT)

    const unasked = await stream()
    const withheld = eventData(asked).filter((data) => !/"choices": ?\[\],.*"usage": ?\{/.test(data))
    expect(eventData(unasked)).toEqual(withheld)
  },
)
