import { describe, expect, it } from 'vitest'
import type { Snapshot } from '../../snapshot.ts'
import { Catalogue } from './catalogue.ts'
import type { Problem } from './problem.ts'
import type { SourceFile } from './source-file.ts'

const HEAD = 'apiVersion: sluice.dev/v1alpha1'
const account = (name: string, spec = '{}') =>
  `${HEAD}\nkind: Account\nmetadata: { name: ${name} }\nspec: ${spec}\n`
const credit = (name: string, amount: string) =>
  `${HEAD}\nkind: Credit\nmetadata: { name: ${name} }\nspec:\n  accountRef: { name: team }\n  amount: ${amount}\n`
const route = (field: string) =>
  `${HEAD}\nkind: ModelRoute\nmetadata: { name: r }\nspec: { model: m, channels: [{ name: c }], ${field} }\n`
const channel = (field: string) =>
  `${HEAD}\nkind: Channel\nmetadata: { name: c }\nspec: { type: chat_completion, baseURL: "http://h/v1", ${field} }\n`
const key = (field: string) =>
  `${HEAD}\nkind: ApiKey\nmetadata: { name: k }\nspec: { secretRef: { name: s }, ${field} }\n`
const secret = (entries: string) => `apiVersion: v1\nkind: Secret\nmetadata: { name: s }\n${entries}\n`

interface Folder {
  read(files: Record<string, string>, now?: number): { snapshot: Snapshot; problems: Problem[] }
}

function folder(env: Record<string, string> = {}): Folder {
  const catalogue = new Catalogue({ namespace: 'default', env })
  return {
    read(files, now = 1_700_000_000_999) {
      const sources: SourceFile[] = Object.entries(files).map(([path, text]) => ({ path, text }))
      return catalogue.update(sources, now)
    },
  }
}

const names = (snapshot: Snapshot) => snapshot.accounts.map(({ metadata }) => metadata.name)

/** The only problem of these files. */
function problemOf(files: Record<string, string>, env?: Record<string, string>): Problem {
  const { problems } = folder(env).read(files)
  expect(problems).toHaveLength(1)
  return problems[0] ?? { file: '', line: 0, column: 0, subject: undefined, message: '' }
}

describe('what a folder says', () => {
  it('reads several documents, empty ones and JSON', () => {
    const json = JSON.stringify({
      apiVersion: 'sluice.dev/v1alpha1',
      kind: 'Account',
      metadata: { name: 'c' },
      spec: {},
    })
    const files = {
      'a.yaml': `---\n${account('a')}---\n---\n# nothing\n---\n${account('b')}`,
      'b.json': json,
    }
    const { snapshot, problems } = folder().read(files)
    expect(problems).toEqual([])
    expect(names(snapshot)).toEqual(['a', 'b', 'c'])
  })

  it('fills in schema defaults', () => {
    const { snapshot } = folder().read({ 'a.yaml': account('a') })
    expect(snapshot.accounts[0]?.spec).toEqual({ enforcement: 'Enforced' })
  })

  it('raises the generation when the spec changes, and only then', () => {
    const it = folder()
    const generation = (text: string) => it.read({ 'a.yaml': text }).snapshot.accounts[0]?.metadata.generation
    expect(generation(account('a'))).toBe(1)
    expect(generation(`# a comment\n${account('a')}`)).toBe(1)
    expect(generation(account('a', '{ disabled: true }'))).toBe(2)
    expect(generation(account('a'))).toBe(3)
  })

  it('is as old as its creationTimestamp, else as its first sight, to the second', () => {
    const it = folder()
    const stamped = account('b').replace(
      'name: b',
      'name: b, creationTimestamp: "2026-01-02T03:04:05.9+01:00"',
    )
    const created = (now: number) =>
      it
        .read({ 'a.yaml': `${account('a')}---\n${stamped}` }, now)
        .snapshot.accounts.map(({ metadata }) => metadata.createdAt)
    const stamp = Date.UTC(2026, 0, 2, 2, 4, 5)
    expect(created(5_999)).toEqual([5_000, stamp])
    expect(created(9_000)).toEqual([5_000, stamp])
  })

  it('puts stringData over base64 data, fills in the environment and drops line breaks at the end', () => {
    const entries = `data: { a: ${btoa('from data\n')}, b: ${btoa('hidden')} }\nstringData: { b: "\${WORD}\\r\\n", c: "$\${WORD}" }`
    const { snapshot, problems } = folder({ WORD: 'filled' }).read({ 'a.yaml': secret(entries) })
    expect(problems).toEqual([])
    const data = snapshot.secrets.get('default/s')
    expect(data?.keys()).toEqual(['a', 'b', 'c'])
    expect([data?.get('a'), data?.get('b'), data?.get('c')]).toEqual([
      'from data',
      'filled',
      '$'.concat('{WORD}'),
    ])
  })

  it('fills in the environment in a base URL and nowhere else', () => {
    const channel = `${HEAD}\nkind: Channel\nmetadata: { name: c }\nspec:\n  type: chat_completion\n  baseURL: "http://127.0.0.1:\${PORT:-8082}/v1"\n  query: { v: "\${PORT}" }\n`
    const { snapshot } = folder({ PORT: '99' }).read({ 'a.yaml': channel })
    expect(snapshot.channels[0]?.spec).toMatchObject({
      baseURL: 'http://127.0.0.1:99/v1',
      query: { v: '$'.concat('{PORT}') },
    })
  })
})

describe('problems', () => {
  it('say where and what to change: a number where text is wanted', () => {
    const problem = problemOf({ 'a.yaml': `${account('a')}---\n${credit('c', '25')}` })
    expect(problem).toMatchObject({ file: 'a.yaml', line: 11, column: 3, subject: 'Credit/c' })
    expect(problem.message).toBe('spec.amount must be text, not a number; put it in quotes')
  })

  it.each([
    ['an unknown field', account('a', '{ overdraf: "1" }'), 'did you mean overdraft?'],
    ['an unknown field that is close to none', account('a', '{ zzz: 1 }'), 'known: parent, disabled,'],
    ['an unknown top-level field', `${account('a')}sepc: {}\n`, 'unknown field sepc; did you mean spec?'],
    [
      'an unknown metadata field',
      account('a').replace('name: a', 'name: a, label: {}'),
      'did you mean labels?',
    ],
    ['a wrong apiVersion', account('a').replace('v1alpha1', 'v1'), 'must be sluice.dev/v1alpha1'],
    ['an unknown kind', account('a').replace('Account', 'Acount'), 'did you mean Account?'],
    [
      'a kind of other software',
      account('a').replace(HEAD, 'apiVersion: apps/v1'),
      'unknown kind Account of apps/v1',
    ],
    ['a foreign namespace', account('a').replace('name: a', 'name: a, namespace: other'), 'use default'],
    ['no spec', account('a').replace('Account', 'Channel').replace('spec: {}', ''), 'spec is missing'],
    ['no name', account('a').replace('name: a', ''), 'metadata.name is missing'],
    [
      'a name that is none',
      account('a').replace('name: a', 'name: A_b'),
      'metadata.name must be lower-case letters, digits, - and ., with a letter or digit at both ends',
    ],
    ['a list without items', 'apiVersion: v1\nkind: List\n', 'items must be a list of resources'],
    ['an amount that is none', credit('c', '"a lot"'), 'must be dollars as decimal text, with at most'],
    [
      'a price that is none',
      route('price: { input: free, output: "1" }'),
      'must be dollars as decimal text, not negative',
    ],
    ['a duration that is none', channel('timeouts: { firstByte: soon }'), 'such as 30s'],
    ['a time that is none', key('expiresAt: tomorrow'), 'such as 2027-12-31T23:59:59Z'],
    ['a rule', credit('c', '"9999999"'), 'spec.amount must lie within 9000000 dollars'],
    ['no mapping', '- a\n- b\n', 'must be a mapping, not a list'],
    ['YAML', 'a: b: c\n', 'not valid YAML: Nested mappings are not allowed'],
    ['an alias without an anchor', 'a: *b\n', 'not valid YAML: an alias has no anchor'],
    [
      'a bad stamp',
      account('a').replace('name: a', 'name: a, creationTimestamp: soon'),
      'must be a time as in RFC 3339, with seconds and a time zone',
    ],
  ])('%s', (_, text, message) => {
    expect(problemOf({ 'a.yaml': text }).message).toContain(message)
  })

  it('names a variable that is not set', () => {
    const problem = problemOf({ 'a.yaml': secret(`stringData:\n  key: "\${TOKEN}"`) })
    expect(problem).toMatchObject({ line: 5, column: 3, subject: 'Secret/s' })
    expect(problem.message).toContain('TOKEN')
  })

  it.each([
    ['not text', 'stringData: { key: 777001 }'],
    ['not base64', 'data: { key: "777001!" }'],
    ['no mapping', 'stringData: [777001]'],
    ['a placeholder', `stringData: { key: "777001\${" }`],
    ['bad YAML', 'stringData: { key: "777001\\q" }'],
    ['an unknown escape', 'stringData: { key: "\\777001" }'],
    ['an open quote', 'stringData: { key: "777001 }'],
    ['an alias', 'stringData: { key: *777001 }'],
    ['text after quotes', 'stringData: { key: "x" 777001 }'],
    ['text after a block header', 'stringData:\n  key: | 777001\n'],
    ['a bad entry name', 'stringData: { "a b": "777001" }'],
  ])('never quote a Secret: %s', (_, entries) => {
    const { problems, snapshot } = folder().read({ 'a.yaml': secret(entries) })
    expect(problems.length).toBeGreaterThan(0)
    for (const { message } of problems) expect(message).not.toContain('\n')
    expect(JSON.stringify({ problems, snapshot })).not.toContain('777001')
  })

  it('tell where the first of two definitions is, and keep to it', () => {
    const first = account('a', '{ disabled: true }')
    const files = { 'a.yaml': `# one\n${first}`, 'b.yaml': account('a') }
    expect(problemOf(files)).toMatchObject({ file: 'b.yaml', message: expect.stringContaining('a.yaml:2:1') })
    expect(folder().read(files).snapshot.accounts).toHaveLength(1)
    expect(folder().read(files).snapshot.accounts[0]?.spec.disabled).toBe(true)
  })

  it('make a resource invalid that never was in order', () => {
    const { snapshot } = folder().read({ 'a.yaml': credit('c', '25') }, 7_500)
    expect(snapshot.invalid).toEqual([
      {
        kind: 'Credit',
        metadata: { namespace: 'default', name: 'c', generation: 1, createdAt: 7_000 },
        message: 'spec.amount must be text, not a number; put it in quotes',
      },
    ])
  })
})

describe('a refused edit changes nothing', () => {
  const good = account('a', '{ disabled: true }')

  it.each([
    ['a spec that does not parse', account('a', '{ disabled: maybe }')],
    ['a foreign namespace', account('a').replace('name: a', 'name: a, namespace: other')],
    ['a wrong apiVersion', account('a').replace('v1alpha1', 'v1')],
    ['a mistyped kind', account('a').replace('Account', 'Acount')],
    ['a missing name', account('a').replace('name: a', '')],
    ['broken YAML', 'kind: "Account\nmetadata: {'],
  ])('%s', (_, broken) => {
    const it = folder()
    it.read({ 'a.yaml': good })
    const { snapshot, problems } = it.read({ 'a.yaml': broken })
    expect(problems.length).toBeGreaterThan(0)
    expect(snapshot.accounts.map(({ spec }) => spec.disabled)).toEqual([true])
    expect(snapshot.accounts[0]?.metadata.generation).toBe(1)
  })

  it('stays so when broken again, and ends when fixed', () => {
    const it = folder()
    it.read({ 'a.yaml': good })
    it.read({ 'a.yaml': account('a', '{ disabled: 1 }') })
    expect(it.read({ 'a.yaml': account('a', '{ disabled: 2 }') }).snapshot.accounts[0]?.spec.disabled).toBe(
      true,
    )
    const fixed = it.read({ 'a.yaml': account('a', '{ disabled: false }') })
    expect(fixed.problems).toEqual([])
    expect(fixed.snapshot.accounts[0]).toMatchObject({
      spec: { disabled: false },
      metadata: { generation: 2 },
    })
  })

  it('keeps what a broken document may have swallowed, in that file alone', () => {
    const it = folder()
    it.read({ 'a.yaml': `${account('a')}---\n${account('b')}`, 'b.yaml': account('c') })
    const { snapshot } = it.read({ 'a.yaml': `${account('a')}---\nkind: "Acc\n---\n${account('b')}` })
    expect(names(snapshot).sort()).toEqual(['a', 'b'])
  })

  it('removes what is gone from files that are in order', () => {
    const it = folder()
    it.read({ 'a.yaml': `${account('a')}---\n${account('b')}` })
    expect(names(it.read({ 'a.yaml': account('b') }).snapshot)).toEqual(['b'])
    expect(names(it.read({}).snapshot)).toEqual([])
  })

  it('lets a document of other software hold nothing back', () => {
    const it = folder()
    const foreign = 'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: x }\n'
    it.read({ 'a.yaml': `${account('a')}---\n${foreign}` })
    expect(names(it.read({ 'a.yaml': foreign }).snapshot)).toEqual([])
  })

  it('moves a resource to another file while its old file is broken', () => {
    const it = folder()
    it.read({ 'a.yaml': good })
    const { snapshot } = it.read({ 'a.yaml': '{', 'b.yaml': account('a', '{ disabled: false }') })
    expect(snapshot.accounts.map(({ spec }) => spec.disabled)).toEqual([false])
  })

  it('does not let a Credit change, and takes the same one again', () => {
    const it = folder()
    it.read({ 'a.yaml': credit('c', '"5"') })
    const edited = it.read({ 'a.yaml': credit('c', '"6"') })
    expect(edited.problems[0]?.message).toContain('a Credit cannot be changed')
    expect(edited.snapshot.credits.map(({ spec }) => spec.amount)).toEqual(['5'])
    expect(it.read({ 'a.yaml': credit('c', '"5"') }).problems).toEqual([])
  })

  it('keeps a Secret that lost its variable', () => {
    const it = folder()
    it.read({ 'a.yaml': secret('stringData: { key: one }') })
    const { snapshot } = it.read({ 'a.yaml': secret(`stringData: { key: "\${GONE}" }`) })
    expect(snapshot.secrets.get('default/s')?.get('key')).toBe('one')
  })

  it('keeps what a file said that cannot be read any more', () => {
    const catalogue = new Catalogue({ namespace: 'default', env: {} })
    catalogue.update([{ path: 'a.yaml', text: good }], 0)
    const { snapshot, problems } = catalogue.update([{ path: 'a.yaml', unreadable: 'EACCES' }], 0)
    expect(names(snapshot)).toEqual(['a'])
    expect(problems).toMatchObject([{ file: 'a.yaml', message: 'cannot be read: EACCES' }])
  })
})
