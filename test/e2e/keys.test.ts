/** `sluice keys` and `sluice credits` on a folder that a gateway serves; test/integration/fleet/keys.test.ts has a cluster. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../harness/http.ts'
import { startSluice } from '../harness/program.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { chatAnswer, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const PRICE = { perRequest: '1', input: '0', output: '0' }

let upstream: ScriptedUpstream
let gateway: RunningGateway
let folder: string
beforeAll(async () => {
  upstream = await startUpstream(chatAnswer())
  gateway = await startGateway({
    'all.yaml':
      `# Kept.\n${account('class', '100000')}` +
      apiKey('by-hand', 'sk-by-hand-0123456789abcdef', { accountRef: { name: 'class' } }) +
      channel('main', upstream.baseURL) +
      route('m', 'm', ['main'], { price: PRICE }),
  })
  folder = gateway.dir
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

async function sluice(...args: string[]): Promise<{ code: number | string; output: string }> {
  const program = startSluice({ SLUICE_ADMIN_URLS: gateway.admin }, [...args, '--folder', folder])
  return { code: await program.exited, output: program.output() }
}

async function statusOf(key: string): Promise<number> {
  const answer = await call(`${gateway.base}/v1/chat/completions`, {
    body: chatBody('m'),
    headers: jsonHeaders(key),
  })
  return answer.status
}

const becomes = (key: string, status: number) =>
  until(async () => (await statusOf(key)) === status, `${status}`)

async function created(...args: string[]): Promise<{ name: string; key: string; note: string }[]> {
  const { code, output } = await sluice('keys', 'create', ...args, '-o', 'json')
  expect(code, output).toBe(0)
  return JSON.parse(output)
}

describe('a class', () => {
  let students: { name: string; key: string }[]
  test('gets keys by one command, each printed once, in files for their owner alone', async () => {
    const args = [
      '--count',
      '12',
      '--prefix',
      'student-',
      '--account',
      'class',
      '--limit',
      'requestsPerDay=2',
      '--budget',
      '5/Month',
    ]
    students = await created(...args)
    expect(students.map(({ name }) => name)).toEqual(
      Array.from({ length: 12 }, (_, i) => `student-${String(i + 1).padStart(2, '0')}`),
    )
    expect(new Set(students.map(({ key }) => key)).size).toBe(12)
    for (const { key } of students) expect(key).toMatch(/^sk-sl1/)
    expect(statSync(join(folder, 'secret-student-01-key.yaml')).mode & 0o777).toBe(0o600)
    await becomes(students[11]?.key ?? '', 200)
    const again = await created(...args)
    expect(again.map(({ note, key }) => [note, key])).toEqual(
      students.map(() => ['exists already', undefined]),
    )
  })

  test('is completed when the command is repeated after an interruption', async () => {
    rmSync(join(folder, 'secret-student-05-key.yaml'))
    rmSync(join(folder, 'secret-student-07-key.yaml'))
    rmSync(join(folder, 'apikey-student-07.yaml'))
    const again = await created(
      '--count',
      '12',
      '--prefix',
      'student-',
      '--account',
      'class',
      '--limit',
      'requestsPerDay=2',
      '--budget',
      '5/Month',
    )
    const made = again.filter(({ note }) => note === 'created')
    expect(made.map(({ name }) => name)).toEqual(['student-05', 'student-07'])
    for (const { key } of made) await becomes(key, 200)
  })

  test('has the limits and budgets that were asked for', async () => {
    const key = students[0]?.key ?? ''
    await becomes(key, 200)
    await becomes(key, 429)
  })

  test('one leaked key is revoked, and no other', async () => {
    const { key = '', name = '' } = students[1] ?? {}
    await becomes(key, 200)
    expect(await sluice('keys', 'revoke', name, '--dry-run')).toMatchObject({
      output: expect.stringContaining('would be revoked'),
    })
    expect(await statusOf(key)).toBe(200)
    expect(await sluice('keys', 'revoke', name)).toMatchObject({ code: 0 })
    await becomes(key, 401)
    expect(await sluice('keys', 'revoke', name)).toMatchObject({ output: expect.stringContaining('already') })
    await becomes(students[2]?.key ?? '', 200)
  })

  test('is listed with state, last use and spending, without keys', async () => {
    const { code, output } = await sluice('keys', 'list', '-o', 'json')
    expect(code).toBe(0)
    const listed = JSON.parse(output) as {
      name: string
      state: string
      lastUsed?: string
      spentThisMonth: string
    }[]
    const of = (name: string) => listed.find((one) => one.name === name)
    const today = new Date().toISOString().slice(0, 10)
    expect(of('student-01')).toMatchObject({
      account: 'class',
      state: 'ready',
      lastUsed: today,
      spentThisMonth: '2',
    })
    expect(of('student-02')).toMatchObject({ state: 'revoked', lastUsed: today })
    expect(of('student-10')).toMatchObject({ spentThisMonth: '0' })
    const text = `${output}${(await sluice('keys', 'list')).output}${(await sluice('keys', 'show', 'student-01')).output}`
    for (const { key } of students) expect(text).not.toContain(key.slice(6, 20))
  })
})

describe('a rotation', () => {
  test('keeps the old key good for the overlap, and refuses another one meanwhile', async () => {
    const [made] = await created('rotated', '--account', 'class')
    await becomes(made?.key ?? '', 200)
    const { code, output } = await sluice('keys', 'rotate', 'rotated', '--overlap', '8s', '-o', 'json')
    expect(code, output).toBe(0)
    const { key, oldUntil } = JSON.parse(output) as { key: string; oldUntil: string }
    await becomes(key, 200)
    expect(Date.parse(oldUntil)).toBeGreaterThan(Date.now())
    const early = await sluice('keys', 'rotate', 'rotated')
    expect(early).toMatchObject({ code: 1, output: expect.stringContaining(`good until ${oldUntil}`) })
    await becomes(made?.key ?? '', 401)
    expect(await statusOf(key)).toBe(200)
    expect((await sluice('keys', 'rotate', 'rotated')).code).toBe(0)
  })

  test('works on a key that a person wrote, and leaves the rest of its file alone', async () => {
    const { output } = await sluice('keys', 'rotate', 'by-hand', '-o', 'json')
    await becomes(JSON.parse(output).key, 200)
    expect(await statusOf('sk-by-hand-0123456789abcdef')).toBe(200)
    const text = readFileSync(join(folder, 'all.yaml'), 'utf8')
    expect(text.startsWith('# Kept.\n')).toBe(true)
    expect(readdirSync(folder).filter((name) => name.endsWith('.new'))).toEqual([])
  })
})

describe('credits', () => {
  test('with a name are added once', async () => {
    const add = (...more: string[]) => sluice('credits', 'add', 'class', '25.50', '--name', 'june', ...more)
    expect((await add('--dry-run')).output).toContain('would be created')
    expect((await add()).output).toContain('Credit june: created')
    expect((await add()).output).toContain('exists already')
    expect(await add('--note', 'x')).toMatchObject({
      code: 1,
      output: expect.stringContaining('another account, amount or note'),
    })
    expect(await sluice('credits', 'add', 'class', 'much')).toMatchObject({ code: 2 })
  })
})

test.each([
  [['keys', 'create'], 2, 'give a name'],
  [['keys', 'create', 'a', '--prefix', 'b'], 2, 'give a name'],
  [['keys', 'create', 'a', '--limit', 'requestsPerHour=1'], 2, 'limits'],
  [['keys', 'create', 'a', '--limit', 'requestsPerMinute=0'], 2, 'It must be a limit'],
  [['keys', 'create', 'a', '--budget', '5/Year'], 2, 'budget'],
  [['keys', 'create', 'a', '--expires', 'tomorrow'], 2, 'expiresAt'],
  [['keys', 'create', 'student-01'], 1, 'exists already, with another spec'],
  [['keys', 'rotate', 'missing'], 1, 'there is no ApiKey'],
  [['keys', 'show', 'missing'], 1, 'there is no ApiKey'],
])('%j is refused with %i: %s', async (args, code, words) => {
  expect(await sluice(...args)).toMatchObject({ code, output: expect.stringContaining(words) })
})

test('a rehearsal creates nothing', async () => {
  const [only] = await created('rehearsed', '--dry-run')
  expect([only?.note, only?.key]).toEqual(['would be created', undefined])
  expect(readdirSync(folder).filter((name) => name.includes('rehearsed'))).toEqual([])
})

test('a folder that is not there is named', async () => {
  const missing = join(mkdtempSync(join(tmpdir(), 'sluice-keys-')), 'none')
  writeFileSync(`${missing}.txt`, '')
  const program = startSluice({}, ['keys', 'list', '--folder', missing])
  expect([await program.exited, program.output()]).toEqual([1, expect.stringContaining('cannot be read')])
})
