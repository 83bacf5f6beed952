/** Edits of the folder under traffic: they apply at once and completely, and a mistake breaks nothing that worked. */
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { bearer, chat } from '../harness/chat-client.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { call, chatBody } from '../harness/http.ts'
import { account, apiKey, channel, documents, route } from '../harness/resources.ts'
import { type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-reload-key-0123456789'
const STEADY = 'sk-reload-steady-0123456789'
const PAYING = 'sk-reload-paying-0123456789'

let upstream: ScriptedUpstream
let other: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await startUpstream()
  other = await startUpstream()
  gateway = await startGateway({
    'channel.yaml': channel('upstream', upstream.baseURL),
    'route.yaml': route('model', 'model', ['upstream']),
    'steady.yaml': route('steady', 'steady', ['upstream']) + apiKey('steady', STEADY),
    'key.yaml': apiKey('key', KEY),
    'paying.yaml': apiKey('paying', PAYING, { accountRef: { name: 'payer' } }),
    'account.yaml': account('payer', undefined),
  })
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
  await other?.close()
})

const ask = async (key: string, model = 'steady') =>
  (await chat(gateway.base, bearer(key), chatBody(model))).status

/** Makes an edit that no request `sees` before; resolves when one does. */
async function expectApplied(what: string, edit: () => void, sees: () => Promise<boolean>): Promise<void> {
  expect(await sees(), `${what} before the edit`).toBe(false)
  edit()
  await until(sees, `${what} to be applied`)
}

const credit = (name: string) =>
  documents({
    apiVersion: 'sluice.dev/v1alpha1',
    kind: 'Credit',
    metadata: { name },
    spec: { accountRef: { name: 'payer' }, amount: '1' },
  })

describe('an edit applies at once', () => {
  const write = (name: string, yaml: string) => () => gateway.write(name, yaml)
  const remove = (name: string) => () => gateway.remove(name)
  const answers = (status: number, key: string, model?: string) => async () =>
    (await ask(key, model)) === status
  const asks = (wanted: () => ScriptedUpstream) => async () => {
    const before = wanted().calls.length
    await ask(STEADY)
    return wanted().calls.length > before
  }
  const calledWith = (value: string) => async () => {
    await ask(STEADY)
    return upstream.calls.at(-1)?.headers['x-edit'] === value
  }
  const OTHER_KEY = 'sk-reload-rotated-0123456789'

  const edits: [string, () => () => void, () => Promise<boolean>][] = [
    [
      'an ApiKey is disabled',
      () => write('key.yaml', apiKey('key', KEY, { disabled: true })),
      answers(401, KEY),
    ],
    ['an ApiKey is enabled', () => write('key.yaml', apiKey('key', KEY)), answers(200, KEY)],
    [
      'models of an ApiKey are narrowed',
      () => write('key.yaml', apiKey('key', KEY, { models: ['none'] })),
      answers(403, KEY),
    ],
    [
      'the Secret of a key is replaced',
      () => write('key.yaml', apiKey('key', OTHER_KEY)),
      answers(200, OTHER_KEY),
    ],
    ['a key is restored', () => write('key.yaml', apiKey('key', KEY)), answers(200, KEY)],
    ['an ApiKey is deleted', () => remove('key.yaml'), answers(401, KEY)],
    ['an ApiKey is created', () => write('key.yaml', apiKey('key', KEY)), answers(200, KEY)],
    [
      'a ModelRoute is renamed',
      () => write('route.yaml', route('model', 'renamed', ['upstream'])),
      answers(200, STEADY, 'renamed'),
    ],
    ['a ModelRoute is deleted', () => remove('route.yaml'), answers(502, STEADY, 'renamed')],
    [
      'a Channel gets a header',
      () => write('channel.yaml', channel('upstream', upstream.baseURL, { headers: { 'x-edit': 'one' } })),
      calledWith('one'),
    ],
    ['a Channel moves', () => write('channel.yaml', channel('upstream', other.baseURL)), asks(() => other)],
    [
      'a Channel moves back',
      () => write('channel.yaml', channel('upstream', upstream.baseURL)),
      asks(() => upstream),
    ],
    ['a Credit is given', () => write('credit.yaml', credit('first')), answers(200, PAYING)],
    [
      'an Account is disabled',
      () => write('account.yaml', account('payer', undefined, { disabled: true })),
      answers(403, PAYING),
    ],
    ['an Account is deleted', () => remove('account.yaml'), answers(503, PAYING)],
    ['an Account is created', () => write('account.yaml', account('payer', undefined)), answers(200, PAYING)],
  ]

  it.each(edits)('%s', async (what, edit, sees) => expectApplied(what, edit(), sees))
})

describe('a revocation', () => {
  it.each([
    ['a disabled key', () => gateway.write('key.yaml', apiKey('key', KEY, { disabled: true }))],
    ['a deleted key', () => gateway.remove('key.yaml')],
    ['a replaced key', () => gateway.write('key.yaml', apiKey('key', 'sk-reload-the-next-0123456789'))],
  ])('%s is refused by every later request', async (_, revoke) => {
    gateway.write('key.yaml', apiKey('key', KEY))
    await until(async () => (await ask(KEY)) === 200, 'the key to work')
    const seen: { sent: number; status: number }[] = []
    let refusedAt = Number.POSITIVE_INFINITY
    const later = () => seen.filter(({ sent }) => sent > refusedAt)
    const hammer = async () => {
      while (later().length < 100) {
        const sent = performance.now()
        const status = await ask(KEY)
        seen.push({ sent, status })
        if (status === 401) refusedAt = Math.min(refusedAt, performance.now())
      }
    }
    const hammering = Promise.all(Array.from({ length: 8 }, hammer))
    await until(() => seen.length > 20, 'some requests to be served')
    revoke()
    await hammering
    expect(new Set(later().map(({ status }) => status))).toEqual(new Set([401]))
    // No other status occurred.
    expect(new Set(seen.map(({ status }) => status))).toEqual(new Set([200, 401]))
  })
})

describe('ways to replace a file', () => {
  it('a new file renamed over the old one', async () => {
    gateway.write('key.yaml', apiKey('key', KEY))
    await until(async () => (await ask(KEY)) === 200, 'the key to work')
    gateway.write('key.yaml.new', apiKey('key', KEY, { disabled: true }))
    await expectApplied(
      'a rename',
      () => renameSync(join(gateway.dir, 'key.yaml.new'), join(gateway.dir, 'key.yaml')),
      async () => (await ask(KEY)) === 401,
    )
  })

  it('a file renamed to another extension', async () => {
    gateway.write('extra.yaml', apiKey('extra', 'sk-reload-extra-0123456789'))
    await until(async () => (await ask('sk-reload-extra-0123456789')) === 200, 'the key to work')
    await expectApplied(
      'a rename',
      () => renameSync(join(gateway.dir, 'extra.yaml'), join(gateway.dir, 'extra.yaml.off')),
      async () => (await ask('sk-reload-extra-0123456789')) === 401,
    )
  })

  it('a symbolic link swapped like a mounted ConfigMap', async () => {
    const at = (...path: string[]) => join(gateway.dir, ...path)
    const key = (version: number) => `sk-reload-mounted-${version}-0123456789`
    const version = (n: number) => {
      mkdirSync(at(`..v${n}`))
      writeFileSync(at(`..v${n}`, 'mounted.yaml'), apiKey('mounted', key(n)))
    }
    const swap = (n: number) => {
      symlinkSync(`..v${n}`, at('..data_tmp'))
      renameSync(at('..data_tmp'), at('..data'))
    }
    version(1)
    swap(1)
    symlinkSync(join('..data', 'mounted.yaml'), at('mounted.yaml'))
    await until(async () => (await ask(key(1))) === 200, 'the first version to be applied')
    for (const next of [2, 3]) {
      version(next)
      await expectApplied(
        'a swap',
        () => swap(next),
        async () => (await ask(key(next))) === 200,
      )
      expect(await ask(key(next - 1))).toBe(401)
    }
  })
})

describe('a mistake', () => {
  const problems = async () => {
    const { text } = await call(`${gateway.admin}/problems`)
    return z.array(z.looseObject({ file: z.string(), line: z.number() })).parse(JSON.parse(text))
  }
  const good = route('fragile', 'fragile', ['upstream'])

  it.each([
    ['that is invalid YAML', `${good}---\nkind: a: mistake\n`, 'a: mistake'],
    ['in the name of a field', good.replace('"channels"', '"chanels"'), 'chanels'],
  ])(
    '%s: traffic continues, the position is reported, and the corrected file applies',
    async (_, bad, mistake) => {
      const line = bad.slice(0, bad.indexOf(mistake)).split('\n').length
      gateway.write('fragile.yaml', good)
      await until(async () => (await ask(STEADY, 'fragile')) === 200, 'the route to work')
      expect(await problems()).toEqual([])
      gateway.write('fragile.yaml', bad)
      const positions = (
        await until(async () => {
          const found = await problems()
          return found.length > 0 && found
        }, 'the problem to be reported')
      ).map((problem) => `${basename(problem.file)}:${problem.line}`)
      expect(positions).toContain(`fragile.yaml:${line}`)
      await until(() => gateway.output().includes(`fragile.yaml:${line}:`), 'the position to be printed')
      for (let i = 0; i < 20; i++) {
        expect(await ask(STEADY, 'fragile')).toBe(200)
        expect(await ask(STEADY)).toBe(200)
      }
      gateway.write('fragile.yaml', route('fragile', 'corrected', ['upstream']))
      await until(async () => (await ask(STEADY, 'corrected')) === 200, 'the corrected file to be applied')
      expect(await problems()).toEqual([])
      expect(await ask(STEADY, 'fragile')).toBe(502)
    },
  )

  it('a file that was never valid does not block others', async () => {
    gateway.write('junk.yaml', '{{{ not: yaml')
    gateway.write('other.yaml', apiKey('other', 'sk-reload-other-0123456789'))
    await until(async () => (await ask('sk-reload-other-0123456789')) === 200, 'the other file to be applied')
    expect((await problems()).map(({ file }) => basename(file))).toContain('junk.yaml')
    gateway.remove('junk.yaml')
    await until(async () => (await problems()).length === 0, 'the problem to be gone')
  })
})
