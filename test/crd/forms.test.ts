/** Fields with a pattern: the API server refuses a text that does not match with the sentence of folder mode. */
import { beforeAll, describe, expect, it } from 'vitest'
import { KINDS, type KindName } from '../../contract/api/index.ts'
import { crdSchema, type Node } from '../../tools/generate/schema.ts'
import { controlPlane } from '../harness/control-plane.ts'
import { type Api, apiOf, sentenceOf } from './api.ts'
import { judgeInFolder, KIND_NAMES } from './verdicts.ts'

let api: Api
beforeAll(async () => {
  const cluster = await controlPlane()
  api = apiOf(cluster, await cluster.createNamespace())
})

/** Neither too short nor too long for any field, and matches no field's pattern. */
const BAD = 'ä b*********'

const secret = () => ({ name: 's', key: 'k' })
const prices = () => ({
  ...{ input: '1', output: '1', above: [{ tokens: 1, input: '1', output: '1' }] },
  ...{ perImage: '1', images: [{ size: '1x1', amount: '1' }] },
})
/** Fields that a bad text needs beside it, so that nothing is missing. */
const AROUND: Record<KindName, object> = {
  ApiKey: { accountRef: { name: 'a' }, secretRef: secret() },
  Account: { budget: { amount: '1', period: 'Day' } },
  Credit: { accountRef: { name: 'a' }, amount: '1' },
  Channel: {
    ...{ type: 'chat_completion', baseURL: 'https://api.example.com/v1', secretRef: secret() },
    ...{ auth: { scheme: 'Header', header: 'x-key' } },
    tls: { caRef: secret(), clientCertificateRef: { name: 's' } },
  },
  ModelRoute: { model: 'm', channels: [{ name: 'c', cost: prices() }], price: prices() },
}

/** The same for fields that exclude those of AROUND: the rule against both is irrelevant here. */
const BESIDE: Partial<Record<KindName, object>> = { ApiKey: { secretRefs: [secret()] } }

type Path = (string | 0)[]

/** Paths of the fields below `node` with a pattern, with the first entry of lists and an entry x-a of maps. */
function formed(node: Node, path: Path = []): Path[] {
  switch (node.type) {
    case 'object':
      return [
        ...Object.entries(node.properties ?? {}).flatMap(([name, field]) => formed(field, [...path, name])),
        ...(node.additionalProperties === undefined
          ? []
          : formed(node.additionalProperties, [...path, 'x-a'])),
      ]
    case 'array':
      return formed(node.items, [...path, 0])
    case 'string':
      expect(node).not.toHaveProperty('pattern')
      expect(node).not.toHaveProperty('format')
      return node['x-kubernetes-validations'] === undefined ? [] : [path]
    default:
      return []
  }
}

/** `value` with BAD at `path`. */
function withBad(value: unknown, [step, ...rest]: Path): unknown {
  if (step === undefined) return BAD
  if (step === 0) return [withBad(Array.isArray(value) ? value[0] : undefined, rest)]
  const fields = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return Object.fromEntries([...fields, [step, withBad(fields.find(([name]) => name === step)?.[1], rest)]])
}

const nameOf = (path: Path) =>
  ['spec', ...path]
    .reduce<string>((text, step) => (step === 0 ? `${text}[0]` : `${text}.${step}`), '')
    .slice(1)

describe.each(KIND_NAMES)('forms of %s', (kind) => {
  const paths = formed(crdSchema(`${kind}.spec`, KINDS[kind].spec))

  it('exist', () => {
    expect(paths.length).toBeGreaterThan(0)
    expect(judgeInFolder(kind, 'one', AROUND[kind])).toEqual({ accepted: true, faults: [] })
  })

  it.each(paths.map((path) => ({ path, field: nameOf(path) })))('$field', async ({ path, field }) => {
    const spec = withBad({ ...AROUND[kind], ...BESIDE[kind] }, path)
    const faults = judgeInFolder(kind, 'one', spec).faults.filter((fault) => fault.field === field)
    expect(faults).toEqual([{ field, message: expect.stringMatching(/ must (be|have) /) }])
    const sentence = faults[0]?.message.slice(field.length + 1) ?? ''
    const server = await api.judge(kind, 'one', spec)
    const there = server.causes.filter((cause) => cause.field === field)
    expect(there.map(sentenceOf)).toEqual([sentence])
  })
})

it.each<[KindName, object]>([
  ['Channel', { type: 'chat_completion', baseURL: 'ftp://example.com', auth: { scheme: 'Header' } }],
  ['ModelRoute', { model: 'a b', channels: [{ name: 'c' }], price: { input: 'free' } }],
  ['ApiKey', { secretRef: { name: 'S' }, hashes: ['x'], allowedIPs: ['localhost'] }],
  ['Account', { overdraft: 'much', budget: { amount: '9999999', period: 'Day' } }],
  ['Account', { overdraft: '12345678' }],
])('both report faults of fields and of rules at once: %s %j', async (kind, spec) => {
  const server = await api.judge(kind, 'one', spec)
  const folder = judgeInFolder(kind, 'one', spec)
  expect(folder.faults.length).toBeGreaterThan(0)
  const sentences = server.causes.map((cause) => `${cause.field} ${sentenceOf(cause)}`)
  // The sentence of a rule names the field itself.
  const inFolder = folder.faults.map(({ field, message }) => (field === 'spec' ? `spec ${message}` : message))
  expect(inFolder.sort()).toEqual(sentences.sort())
})
