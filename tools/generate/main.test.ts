/** The files in the tree are what the source says, and what they show works. */
import { execFile } from 'node:child_process'
import { appendFile, cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { API_VERSION, CONDITION_TYPES, KINDS, type Kind, REASONS } from '../../contract/api/index.ts'
import { environment } from '../../contract/env.ts'
import { CATALOGUE } from '../../proxy/errors.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const kinds: Kind[] = Object.values(KINDS)

const execute = promisify(execFile)
async function generate(...args: string[]): Promise<{ code: number; stderr: string }> {
  try {
    const { stderr } = await execute(process.execPath, [join(ROOT, 'tools/generate/main.ts'), ...args])
    return { code: 0, stderr }
  } catch (error) {
    return z.object({ code: z.int(), stderr: z.string() }).parse(error)
  }
}

describe('generated files', () => {
  let root = ''
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'generate-'))
    await cp(join(ROOT, 'crds'), join(root, 'crds'), { recursive: true })
    await cp(join(ROOT, 'docs'), join(root, 'docs'), { recursive: true })
    await cp(join(ROOT, 'helm'), join(root, 'helm'), { recursive: true })
  })
  afterAll(() => rm(root, { recursive: true, force: true }))

  it('match the source', async () => {
    expect(await generate('--check')).toEqual({ code: 0, stderr: '' })
  })

  it('are checked without a change, and repaired', async () => {
    const crd = join(root, 'crds/sluice.dev_apikeys.yaml')
    await appendFile(crd, '# edited\n')
    await rm(join(root, 'docs/errors.md'))
    await writeFile(join(root, 'crds/sluice.dev_gone.yaml'), '')
    await writeFile(join(root, 'docs/schemas/gone.json'), '')
    await writeFile(join(root, 'crds/README.md'), 'not ours')

    const check = await generate('--check', '--root', root)
    expect(check.code).toBe(1)
    expect(
      check.stderr
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual([
      'crds/sluice.dev_apikeys.yaml',
      'crds/sluice.dev_gone.yaml',
      'docs/errors.md',
      'docs/schemas/gone.json',
    ])
    expect(await readFile(crd, 'utf8')).toContain('# edited')

    expect((await generate('--root', root)).code).toBe(0)
    expect(await generate('--check', '--root', root)).toEqual({ code: 0, stderr: '' })
    expect(await readdir(join(root, 'crds'))).toContain('README.md')
  })
})

describe.each(kinds)('CRD of $kind', (kind) => {
  it('has names, rules, columns and the pending status', async () => {
    const crd: unknown = parse(await readFile(join(ROOT, `crds/sluice.dev_${kind.plural}.yaml`), 'utf8'))
    expect(crd).toMatchObject({
      apiVersion: 'apiextensions.k8s.io/v1',
      metadata: { name: `${kind.plural}.sluice.dev` },
      spec: {
        group: 'sluice.dev',
        scope: 'Namespaced',
        names: { kind: kind.kind, categories: ['sluice'], shortNames: kind.shortNames },
        versions: [
          {
            name: 'v1alpha1',
            served: true,
            storage: true,
            subresources: { status: {} },
            additionalPrinterColumns: kind.columns,
            selectableFields: kind.selectableFields.map((jsonPath) => ({ jsonPath })),
            schema: {
              openAPIV3Schema: {
                ...(kind.specOptional !== true && { required: ['spec'] }),
                properties: {
                  status: {
                    default: {
                      conditions: [
                        {
                          type: 'Ready',
                          status: 'Unknown',
                          reason: 'Pending',
                          message: 'Waiting for the controller',
                          lastTransitionTime: '1970-01-01T00:00:00Z',
                        },
                      ],
                    },
                  },
                  spec: {
                    'x-kubernetes-validations': kind.rules.map(({ cel, message }) => ({
                      rule: cel,
                      message,
                    })),
                  },
                },
              },
            },
          },
        ],
      },
    })
  })
})

describe('reference pages', () => {
  const read = (name: string) => readFile(join(ROOT, 'docs', name), 'utf8')

  it('name every setting', async () => {
    const page = await read('environment.md')
    const missing = Object.keys(environment.shape).filter((name) => !page.includes(`| \`${name}\` |`))
    expect(missing).toEqual([])
    expect(page).toContain('| `SLUICE_ADMIN_TOKEN` |  | at least 16 characters |')
    expect(page).toContain('| `SLUICE_DRAIN_TIMEOUT` | `620s` |')
  })

  it('name every error', async () => {
    const page = await read('errors.md')
    const missing = Object.keys(CATALOGUE).filter((code) => !page.includes(`| \`${code}\` |`))
    expect(missing).toEqual([])
    expect(page).toContain(
      '| `insufficient_balance` | 402 | The balance is used up, or does not cover the maximum cost of the request. | `insufficient_quota` | `billing_error` | policy | no |',
    )
  })

  it('explain every condition and reason', async () => {
    const page = await read('resources.md')
    const words = [...CONDITION_TYPES, ...Object.keys(REASONS)]
    expect(words.filter((word) => !page.includes(`| \`${word}\` |`))).toEqual([])
  })

  it('name every rule and nested fields', async () => {
    const page = await read('resources.md')
    const missing = kinds
      .flatMap((kind) => kind.rules)
      .filter(({ message }) => !page.includes(`- ${message}\n`))
    expect(missing).toEqual([])
    expect(page).toContain('| `channels[].weight` | integer | `1` | 0 to 1000000 |')
    expect(page).toContain(
      '| `timeouts.idle` | string |  | 2 to 32 characters; must be a duration of whole numbers above zero',
    )
  })
})

/** YAML documents of a text that are resources of ours. */
function resources(yaml: string): { kind: string; spec: unknown }[] {
  // Values of the chart, and resources of other groups, have another header.
  const header = z.looseObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.string(),
    spec: z.unknown().optional(),
  })
  return parseAllDocuments(yaml).flatMap((document) => {
    expect(document.errors).toEqual([])
    const { data } = header.safeParse(document.toJS())
    return data === undefined ? [] : [{ kind: data.kind, spec: data.spec }]
  })
}

function problems(yaml: string): string[] {
  return resources(yaml).flatMap(({ kind, spec }) => {
    const found = kinds.find((known) => known.kind === kind)
    if (found === undefined) return [`${kind} is no kind`]
    const parsed = found.spec.safeParse(spec)
    if (!parsed.success) return [`${kind}: ${parsed.error.message}`]
    return found.rules.filter((rule) => !rule.test(parsed.data)).map((rule) => `${kind}: ${rule.message}`)
  })
}

describe('examples', async () => {
  const page = await readFile(join(ROOT, 'docs/resources.md'), 'utf8')
  const blocks = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, yaml = '']) => yaml)

  it('of every kind are in the reference', () => {
    expect(blocks.flatMap(resources).map(({ kind }) => kind)).toEqual(Object.keys(KINDS))
  })

  it.each(blocks.map((yaml) => [/^kind: (.*)$/m.exec(yaml)?.[1], yaml]))('of %s is valid', (_, yaml = '') => {
    expect(problems(yaml)).toEqual([])
  })

  it('are found if they are not', () => {
    const bad = (kind: string, spec: string) => `apiVersion: ${API_VERSION}\nkind: ${kind}\nspec: ${spec}\n`
    expect(problems(bad('Thing', '{}'))).toEqual(['Thing is no kind'])
    expect(problems(bad('ApiKey', '{ acountRef: { name: a } }'))[0]).toContain('acountRef')
    expect(problems(bad('ApiKey', '{ allowedIPs: [localhost] }'))[0]).toContain('spec.allowedIPs')
  })

  const files = (await readdir(join(ROOT, 'examples'), { recursive: true }).catch(() => [])).filter(
    (name) => /\.ya?ml$/.test(name) && !/compose\/(compose|prometheus)\.yaml$/.test(name),
  )
  it('in files are valid', async () => {
    // As in folder mode with nothing set: `${NAME:-preset}` becomes its preset, and `${NAME}` some text.
    const texts = await Promise.all(files.map((name) => readFile(join(ROOT, 'examples', name), 'utf8')))
    expect(
      texts.flatMap((yaml) =>
        problems(yaml.replaceAll(/\$\{\w+(?::-([^}]*))?\}/g, (_, preset = 'text') => preset)),
      ),
    ).toEqual([])
  })
})
