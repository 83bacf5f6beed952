/** Balances of `sluice dev` outlive the process where a folder is set for them. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../harness/http.ts'
import { balanceOf, nanos } from '../harness/ledger.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { chatAnswer, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-state-0123456789abcdef'
const OPEN_KEY = 'sk-state-open-0123456789'
let upstream: ScriptedUpstream
let state: string

beforeAll(async () => {
  upstream = await startUpstream(chatAnswer())
  state = mkdtempSync(join(tmpdir(), 'sluice-state-'))
})
afterAll(async () => {
  await upstream.close()
  rmSync(state, { recursive: true })
})

const files = (more = '') => ({
  'all.yaml':
    channel('c', upstream.baseURL) +
    // 15 tokens of 1,000 micro-dollars: 0.015 a request.
    route('m', 'm', ['c'], { price: { input: '1000', output: '1000' }, maxOutputTokens: 10 }) +
    apiKey('k', KEY, { accountRef: { name: 'a' } }) +
    account('a', '1') +
    more,
})
const ask = (gateway: RunningGateway) =>
  call(`${gateway.base}/v1/chat/completions`, { headers: jsonHeaders(KEY), body: chatBody('m') })
const balance = async (gateway: RunningGateway) => (await balanceOf(gateway, 'a')).balance

test('after a stop and after a crash, with credits once', async () => {
  const first = await startGateway(files(), { SLUICE_STATE_DIR: state })
  expect((await ask(first)).status).toBe(200)
  expect(await balance(first)).toBe(nanos('0.985'))
  await first.stop()

  const second = await startGateway(files(), { SLUICE_STATE_DIR: state })
  expect(await balance(second)).toBe(nanos('0.985'))
  expect((await ask(second)).status).toBe(200)
  const saved = () => JSON.parse(readFileSync(join(state, 'ledger.json'), 'utf8'))
  const spent = () => Object.values<{ spent: number }>(saved().accounts)[0]?.spent
  await until(() => spent() === nanos('0.03'), 'the checkpoint', 30_000)
  second.child.kill('SIGKILL')

  const more = { spec: { accountRef: { name: 'a' }, amount: '2' }, metadata: { name: 'more' } }
  const document = { apiVersion: 'sluice.dev/v1alpha1', kind: 'Credit', ...more }
  const third = await startGateway(files(`---\n${JSON.stringify(document)}\n`), { SLUICE_STATE_DIR: state })
  expect(await balance(third)).toBe(nanos('2.97'))
  await third.stop()
}, 90_000)

test('usage, also of keys without an account, outlives stops, and a crash loses only what is new', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-state-'))
  const settings = { SLUICE_STATE_DIR: dir }
  const all = files(route('free', 'free', ['c']) + apiKey('open', OPEN_KEY))
  const askAs = (gateway: RunningGateway, key: string, model: string) =>
    call(`${gateway.base}/v1/chat/completions`, {
      headers: { ...jsonHeaders(key), 'x-sluice-tag': 'project=blue' },
      body: chatBody(model),
    })
  const rows = async (gateway: RunningGateway, by: string) => {
    const today = new Date().toISOString().slice(0, 10)
    const { text } = await call(`${gateway.admin}/usage?from=${today}&to=${today}&by=${by}`)
    const lines: { of: Record<string, string>; counts: Record<string, number> }[] = JSON.parse(text).lines
    return lines.map(({ of, counts }) => [...Object.values(of), counts.requests, counts.cost ?? 0])
  }
  try {
    const first = await startGateway(all, settings)
    for (let i = 0; i < 3; i++) expect((await askAs(first, KEY, 'm')).status).toBe(200)
    expect((await askAs(first, OPEN_KEY, 'free')).status).toBe(200)
    const expected = [
      ['default/k', 'm', 'default/c', 3, nanos('0.045')],
      ['default/open', 'free', 'default/c', 1, 0],
    ]
    await until(async () => (await rows(first, 'key')).length === 2, 'the usage of both keys', 30_000)
    expect(await rows(first, 'key,model,channel')).toEqual(expected)
    await first.stop()

    const second = await startGateway(all, settings)
    expect(await rows(second, 'key,model,channel')).toEqual(expected)
    expect(await rows(second, 'tag')).toEqual([['project=blue', 4, nanos('0.045')]])
    expect((await askAs(second, KEY, 'm')).status).toBe(200)
    expect(await rows(second, 'key')).toEqual([
      ['default/k', 4, nanos('0.06')],
      ['default/open', 1, 0],
    ])
    second.child.kill('SIGKILL')

    const third = await startGateway(all, settings)
    expect(await rows(third, 'key,model,channel')).toEqual(expected)
    await third.stop()
  } finally {
    rmSync(dir, { recursive: true })
  }
}, 90_000)

test('the ledger journal of a folder agrees with the balances', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-journal-'))
  const journal = join(dir, 'ledger.jsonl')
  const gateway = await startGateway(files(), { SLUICE_JOURNAL: `file:${journal}` })
  try {
    for (let i = 0; i < 5; i++) expect((await ask(gateway)).status).toBe(200)
    const lines = () =>
      readFileSync(journal, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    await until(() => existsSync(journal) && lines().length === 6, 'the journal', 30_000)
    const main = join(import.meta.dirname, '../../cli/main.ts')
    const verify = (file: string) =>
      spawnSync(process.execPath, [main, 'ledger', 'verify', '--admin', gateway.admin, file], {
        encoding: 'utf8',
      })
    const { status, stdout } = verify(journal)
    expect([status, stdout]).toEqual([0, '1 accounts agree, 0 have newer entries, 0 differ\n'])
    const changed = join(dir, 'changed.jsonl')
    writeFileSync(
      changed,
      lines()
        .map((line) => line.replace('-0.015', '-0.014'))
        .join('\n'),
    )
    const other = verify(changed)
    expect([other.status, other.stdout]).toEqual([
      1,
      expect.stringContaining('spent 0.07 in the files and 0.075 in the ledger'),
    ])
  } finally {
    await gateway.stop()
    rmSync(dir, { recursive: true })
  }
}, 60_000)

test.each(['ledger.json', 'usage.json'])(
  'a %s that cannot be read stops the start with its name, and stays',
  async (file) => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-state-'))
    writeFileSync(join(dir, file), 'not json')
    try {
      const start = startGateway(files(), { SLUICE_STATE_DIR: dir })
      await expect(start).rejects.toThrow(`${file} cannot be read`)
      expect(readFileSync(join(dir, file), 'utf8')).toBe('not json')
    } finally {
      rmSync(dir, { recursive: true })
    }
  },
)
