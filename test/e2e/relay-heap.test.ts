/** The upstream's key is in nothing that the gateway prints, counts or keeps. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startGateway, until } from '../harness/gateway.ts'
import { call, jsonHeaders, open, readAll } from '../harness/http.ts'
import { startUpstream } from '../harness/upstream.ts'

const newKey = () => `up-${randomBytes(24).toString('hex')}`

test('after the call no structure holds it', async () => {
  const dumps = mkdtempSync(join(tmpdir(), 'sluice-heap-'))
  onTestFinished(() => rmSync(dumps, { recursive: true }))
  const upstream = await startUpstream((asked, res) => {
    if (asked.path === '/silent') return
    res.writeHead(asked.path === '/error' ? 401 : 200, { 'x-request-id': 'u-1' })
    res.write('{}')
    if (asked.path === '/cut') res.destroy()
    else res.end()
  })
  onTestFinished(() => upstream.close())
  const gateway = await startGateway(
    {},
    {
      SLUICE_RELAY_ALLOW: 'localhost',
      NODE_OPTIONS: `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${dumps}`,
    },
  )
  onTestFinished(() => gateway.stop())
  const { origin } = new URL(upstream.baseURL)
  const relay = (key: string, url: string, format: string, signal?: AbortSignal) =>
    open(`${gateway.base}/api/proxy`, {
      method: 'POST',
      headers: jsonHeaders(key),
      body: JSON.stringify({ url, format, body: { model: 'm', speed: 'fast', stream: true } }),
      ...(signal !== undefined && { signal }),
    })

  const used: string[] = []
  const urls = ['/good', '/error', '/cut'].map((path) => `${origin}${path}`)
  for (const url of [...urls, 'http://127.0.0.1:1/', 'http://10.0.0.1/', 'https://127.0.0.1:1/', 'none'])
    for (const format of ['openai', 'anthropic']) {
      const key = newKey()
      used.push(key)
      await readAll(await relay(key, url, format)).catch(() => undefined)
    }
  const leaving = new AbortController()
  const left = newKey()
  used.push(left)
  const gone = relay(left, `${origin}/silent`, 'openai', leaving.signal).catch(() => 'gone')
  await until(() => upstream.calls.find(({ path }) => path === '/silent'), 'the silent call')
  leaving.abort()
  expect(await gone).toBe('gone')
  await until(() => gateway.requests().length === used.length, 'a line of each request')

  // What is in use is found, or the search would prove nothing. It is also the last that regular expressions matched.
  const inUse = newKey()
  const waiting = relay(inUse, `${origin}/silent`, 'openai').catch(() => undefined)
  await until(
    () => upstream.calls.filter(({ path }) => path === '/silent').length === 2,
    'the second silent call',
  )
  gateway.child.kill('SIGUSR2')
  const heap = await until(
    () => {
      const [file] = readdirSync(dumps)
      const text = file === undefined ? '' : readFileSync(join(dumps, file), 'utf8')
      return text.trimEnd().endsWith('}') && text.includes('"strings"') ? text : undefined
    },
    'the heap',
    20_000,
  )
  const metrics = await call(`${gateway.admin}/metrics`)
  expect(heap.includes(inUse)).toBe(true)
  expect(used.filter((key) => heap.includes(key))).toEqual([])
  for (const text of [gateway.output(), metrics.text])
    expect([...used, inUse].filter((key) => text.includes(key))).toEqual([])
  expect(metrics.text).toContain('endpoint="relay"')
  await gateway.stop()
  await waiting
})
