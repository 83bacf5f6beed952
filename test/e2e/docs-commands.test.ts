/**
 * The commands of the documentation. Those that need only a laptop run against `sluice dev`; the others are checked against
 * the definitions of commands and targets, the chart and the CRDs. A block that docs/blocks.ts does not list fails.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { validate } from '../../cli/validate.ts'
import { type Manifest, render } from '../chart/helm.ts'
import { startExample } from '../harness/examples.ts'
import type { RunningGateway } from '../harness/gateway.ts'
import { call } from '../harness/http.ts'
import { ROOT } from '../harness/program.ts'
import { CHECKED, NO_COMMANDS, RUN } from './docs/blocks.ts'
import { inlineProblem, problemOf } from './docs/checks.ts'
import { type Block, blocksOf, inlineOf, pageNames, scriptsOf } from './docs/pages.ts'
import { commandsOf } from './docs/shell.ts'

const pages = pageNames()
const blocks = new Map(pages.flatMap(blocksOf).map((block) => [block.name, block]))
const ofShell = [...blocks.values()].filter(({ language }) => ['', 'sh', 'bash', 'shell'].includes(language))
const listed = (lists: { blocks: string[] }[]) => lists.flatMap((list) => list.blocks)

let objects: Manifest[]
let gateway: RunningGateway
let home: string

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'docs-commands-'))
  mkdirSync(join(home, 'bin'))
  writeFileSync(
    join(home, 'bin/sluice'),
    `#!/bin/sh\nexec "${process.execPath}" "${ROOT}/cli/main.ts" "$@"\n`,
  )
  chmodSync(join(home, 'bin/sluice'), 0o755)
  objects = await render({}, 'sluice')
  gateway = await startExample('quickstart')
})

afterAll(async () => {
  await gateway?.stop()
  rmSync(home, { recursive: true, force: true })
})

describe('every block', () => {
  it('is run or listed, and every listed block exists', () => {
    const names = [...Object.keys(RUN), ...listed(CHECKED), ...listed(NO_COMMANDS)]
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
    expect(names.sort()).toEqual(ofShell.map(({ name }) => name).sort())
  })

  it('of another language has a test of its own', () => {
    const others = [...blocks.values()].filter((block) => !ofShell.includes(block))
    // Resources are validated below, and test/e2e/clients.test.ts runs the snippets, except those for LangChain.
    const unknown = others.filter(({ language }) => !['yaml', 'js', 'python'].includes(language))
    expect(unknown.map(({ name }) => name)).toEqual([])
    const snippets = others.filter(({ language }) => language !== 'yaml')
    expect([...new Set(snippets.map(({ name }) => name.split('#')[0]))]).toEqual(['docs/clients.md'])
  })

  it('has commands, unless the list says otherwise', () => {
    const without = ofShell.filter(({ commands }) => commands.length === 0).map(({ name }) => name)
    expect(without.sort()).toEqual(listed(NO_COMMANDS).sort())
  })
})

const addressed = (text: string) =>
  text.replaceAll('http://localhost:8080', gateway.base).replaceAll('http://127.0.0.1:8081', gateway.admin)

/** Runs a script as a person does, with `sluice` on the path. */
function run(script: string, folder: string) {
  const { status, stdout, stderr } = spawnSync('bash', ['-c', addressed(script)], {
    cwd: folder,
    env: {
      PATH: `${join(home, 'bin')}:${process.env.PATH}`,
      HOME: home,
      KUBECONFIG: join(home, 'none'),
      SLUICE_ADMIN_URLS: gateway.admin,
    },
    encoding: 'utf8',
    timeout: 60_000,
  })
  return { status, stdout, stderr }
}

/** Without the columns' widths, which depend on values. */
const squeezed = (text: string) => text.replace(/ +/g, ' ').trim()

describe('a block that runs on a laptop', () => {
  it.each(Object.keys(RUN))('%s', (name) => {
    const { files = {}, code = 0, output, only } = RUN[name] as (typeof RUN)[string]
    const { text } = blocks.get(name) as Block
    const folder = mkdtempSync(join(home, 'own-'))
    for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content)
    const script = scriptsOf(text)
      .flatMap((part) => (only === undefined ? part : part.split('\n').filter((line) => only.test(line))))
      .join('\n')
    const { status, stdout, stderr } = run(script, folder)
    expect({ status, stderr: status === code ? '' : stderr }).toEqual({ status: code, stderr: '' })
    const shown = text.split('\n').filter((line) => !line.startsWith('$ '))
    if (output === 'shown') expect(squeezed(stdout)).toBe(squeezed(addressed(shown.join('\n'))))
    else expect(stdout).toMatch(output)
  })
})

describe('commands that only read the admin port run, wherever they stand', () => {
  const READING = /^sluice (status|usage|logs|schema)\b(?!.*[A-Z]{3})/
  const scripts = ofShell.flatMap(({ name, commands }) =>
    name in RUN ? [] : commands.filter(({ text }) => READING.test(text)).map(({ text }) => [text] as const),
  )

  it.each([...new Map(scripts.map((one) => [one[0], one])).values()])('%s', (script) => {
    const { status, stderr } = run(script, home)
    // No request may match.
    const isEmpty = script.startsWith('sluice logs') && status === 1 && stderr.includes('no request')
    expect(isEmpty || status === 0 ? '' : stderr).toBe('')
  })
})

describe('the commands of a page', () => {
  it.each(pages.filter((page) => blocksOf(page).some(({ commands }) => commands.length > 0)))(
    '%s',
    async (page) => {
      const problems: string[] = []
      for (const { name, commands } of blocksOf(page))
        for (const command of commands) {
          const problem = await problemOf(command, objects)
          if (problem !== undefined) problems.push(`${name}: ${command.text}: ${problem}`)
        }
      expect(problems).toEqual([])
    },
  )

  it.each(pages.filter((page) => inlineOf(page).length > 0))('%s, in backticks', async (page) => {
    const problems: string[] = []
    for (const { where, text } of inlineOf(page)) {
      const problem = await inlineProblem(text, objects)
      if (problem !== undefined) problems.push(`${where}: ${text}: ${problem}`)
    }
    expect(problems).toEqual([])
  })
})

describe('the resources of a block are valid', () => {
  const resources = [...blocks.values()].filter(({ text }) => text.startsWith('apiVersion: sluice.dev/'))

  it.each(resources)('$name', async ({ text }) => {
    const file = join(home, 'resources.yaml')
    writeFileSync(file, text)
    const out: string[] = []
    const terminal = { width: undefined, print: (line: string) => out.push(line), warn: () => undefined }
    const options = { file: [file], namespace: 'default', output: 'table' as const }
    // Variables of folders have some value.
    const env = Object.fromEntries(
      [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, 'a-value']),
    )
    const code = await validate(options, { ...terminal, env })
    expect({ code, out: code === 0 ? [] : out }).toEqual({ code: 0, out: [] })
  })
})

it('the pages of the admin port that curl reads exist', async () => {
  const paths = ofShell.flatMap(({ text }) =>
    [...text.matchAll(/http:\/\/[\w.-]+:8081(\/\w+)/g)].map(([, path]) => path),
  )
  expect(paths.length).toBeGreaterThan(0)
  for (const path of paths) expect((await call(`${gateway.admin}${path}`)).status).toBe(200)
})

describe('the checks find', () => {
  it.each([
    ['sluice explain --key alice --model gpt --endpont chat', /unknown option '--endpont'/],
    ['sluice ledgers list a/b', /unknown command 'ledgers'/],
    ['sluice usage --by team', /'team' is none of/],
    ['sluice validate routes.yaml', /required option '-f/],
    ['make benchs', /no target benchs/],
    ['make run FOLDER=x', /reads no FOLDER/],
    ['kubectl get apikey,modelrouts -A', /no kind modelrouts/],
    ['kubectl get accounts --namespaces a', /no flag --namespaces/],
    ['kubectl logs -n sluice -l app.kubernetes.io/component=gateway', /no pod with the label/],
    ['kubectl get secret sluice-seal -n sluice', /no Secret sluice-seal/],
    [
      'kubectl exec -n sluice deploy/sluice-controller -- /nodejs/bin/node cli/main.ts status',
      /no cli\/main\.ts/,
    ],
    ['kubectl apply -f examples/clusters', /no examples\/clusters/],
    ['helm install sluice helm/sluice --set image.repo=x', /repo/],
    ['helm upgrade sluice helm/sluice --reuse-all', /no flag --reuse-all/],
    ['helm install sluice helm/slice', /no chart helm\/slice/],
    ['docker run --rm images.example.com/sluice:0.1.0 devel', /unknown command 'devel'/],
    ['curl http://localhost:8080/v1/chat/completion', /no endpoint/],
    ['vitest run proxy/upstreams', /there is no/],
  ])('%s', async (script, expected) => {
    const [command] = commandsOf(script)
    expect(command && (await problemOf(command, objects))).toMatch(expected)
  })

  it.each([
    ['sluice keys create|rename NAME', /no command rename/],
    ['sluice logs --request <id of the answer>', /no option --request/],
    ['sluice validate FOLDER', /takes no such argument/],
    ['sluice proxy --workers N', undefined],
    ['sluice ledger verify FILE...', undefined],
  ])('`%s`', async (text, expected) => {
    const problem = await inlineProblem(text, objects)
    if (expected === undefined) expect(problem).toBeUndefined()
    else expect(problem).toMatch(expected)
  })
})
