import { queryObjects } from 'node:v8'
import { describe, expect, it } from 'vitest'
import { Document } from 'yaml'
import { Catalogue } from './catalogue.ts'
import { readDocuments } from './documents.ts'

const values = (text: string) => readDocuments('a.yaml', text).documents.map(({ value }) => value)

describe('words that kubectl reads as booleans', () => {
  it.each(['yes', 'Yes', 'YES', 'y', 'Y', 'on', 'On', 'ON', 'true', 'True', 'TRUE'])('%s is true', (word) => {
    expect(values(`a: ${word}`)).toEqual([{ a: true }])
  })
  it.each(['no', 'No', 'NO', 'n', 'N', 'off', 'Off', 'OFF', 'false', 'False', 'FALSE'])(
    '%s is false',
    (word) => {
      expect(values(`a: [${word}]`)).toEqual([{ a: [false] }])
    },
  )
  it.each(['oN', 'tRUE', 'yEs', 'none', '"on"', "'no'"])('%s is text', (word) => {
    expect(values(`a: ${word}`)).toEqual([{ a: word.replaceAll(/["']/g, '') }])
  })

  it('are text as field names, with a warning', () => {
    const { documents, doubts } = readDocuments(
      'a.yaml',
      'retry:\n  on: [x]\n  attempts: 2\ny: 1\n"no": 2\nfalse: 3\n',
    )
    expect(documents[0]?.value).toEqual({ retry: { on: ['x'], attempts: 2 }, y: 1, no: 2, false: 3 })
    expect(documents[0]?.locate(['retry', 'on', 0])).toEqual({ line: 2, column: 8 })
    expect(doubts).toEqual([
      {
        ...{ file: 'a.yaml', line: 2, column: 3, subject: undefined },
        message: 'write "on" in quotes: kubectl reads an unquoted on as true',
      },
      expect.objectContaining({
        line: 4,
        message: 'write "y" in quotes: kubectl reads an unquoted y as true',
      }),
    ])
    expect(readDocuments('a.json', '{"on": "yes"}')).toMatchObject({
      documents: [{ value: { on: 'yes' } }],
      doubts: [],
    })
  })
})

describe('positions in a file', () => {
  const text = 'a: 1\n---\nb: [1, { c: 2 }]\n---\n- d\n'

  /** Trees of documents, after a collection. A WeakRef that was read keeps its trees until the end of the test's own turn. */
  const inMemory = () => queryObjects(Document, { format: 'count' })

  it('are known of several documents, without keeping their trees in memory', () => {
    const before = inMemory()
    const { documents } = readDocuments('a.yaml', text)
    expect(documents.map(({ locate }) => locate([]).line)).toEqual([1, 3, 5])
    expect(inMemory()).toBe(before)
    expect(documents[1]?.locate(['b', 1, 'c'])).toEqual({ line: 3, column: 10 })
    expect(documents[2]?.locate([0, 'gone'])).toEqual({ line: 5, column: 3 })
  })

  it('take one more parse together', () => {
    const before = inMemory()
    const { documents } = readDocuments('a.yaml', text)
    for (const { locate } of documents) for (const path of [['b'], [0], ['b', 0]]) locate(path)
    expect(inMemory()).toBe(before + documents.length)
  })
})

describe('a list as kubectl prints it', () => {
  const item = (name: string, spec: string) => `- apiVersion: sluice.dev/v1alpha1
  kind: Account
  metadata:
    name: ${name}
    namespace: default
    creationTimestamp: "2026-01-02T03:04:05Z"
    generation: 7
    resourceVersion: "12"
    uid: 8b6f
    deletionTimestamp: null
  spec: ${spec}
  status: { balance: "5" }
`
  const read = (text: string) =>
    new Catalogue({ namespace: 'default', env: {} }).update([{ path: 'l.yaml', text }], 0)

  it.each(['apiVersion: v1\nkind: List', 'apiVersion: sluice.dev/v1alpha1\nkind: AccountList'])(
    'is its items: %j',
    (head) => {
      const { snapshot, problems } = read(
        `${head}\nmetadata: { resourceVersion: "" }\nitems:\n${item('a', '{}')}${item('b', '{ disabled: yes }')}`,
      )
      expect(problems).toEqual([])
      expect(snapshot.accounts).toEqual([
        expect.objectContaining({ spec: { enforcement: 'Enforced' } }),
        expect.objectContaining({ spec: { enforcement: 'Enforced', disabled: true } }),
      ])
      expect(snapshot.accounts[0]?.metadata).toMatchObject({
        name: 'a',
        createdAt: Date.UTC(2026, 0, 2, 3, 4, 5),
      })
    },
  )

  it('reports the position of a bad item in the file', () => {
    const { snapshot, problems } = read(
      `kind: List\nitems:\n${item('a', '{}')}${item('b', '{ overdraft: 5 }')}- { kind: Account }\n`,
    )
    expect(snapshot.accounts.map(({ metadata }) => metadata.name)).toEqual(['a'])
    expect(problems).toMatchObject([
      {
        line: 25,
        column: 11,
        subject: 'Account/b',
        message: expect.stringContaining('spec.overdraft must be text'),
      },
      { line: 27, column: 3, message: 'metadata.name is missing' },
    ])
  })

  it('is parsed once as long as nothing is wrong with its items', () => {
    const trees = () => queryObjects(Document, { format: 'count' })
    const before = trees()
    const { snapshot } = read(`kind: List\nitems:\n${item('a', '{}')}${item('b', '{}')}`)
    expect(snapshot.accounts).toHaveLength(2)
    expect(trees()).toBe(before)
  })

  it('names the place of the first definition of a resource that it defines again', () => {
    const { problems } = read(`kind: List\nitems:\n${item('a', '{}')}${item('a', '{}')}`)
    expect(problems).toMatchObject([
      { line: 18, subject: 'Account/a', message: expect.stringContaining('counts (l.yaml:3:3); remove') },
    ])
  })

  it('may be empty', () => {
    expect(read('apiVersion: v1\nkind: List\nitems: []\n').problems).toEqual([])
  })
})
