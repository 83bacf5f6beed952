/** The Dockerfile, checked without a container engine: it copies everything that the programs need. */
import { execFile } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { isBuiltin, stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, matchesGlob, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { importsOf } from '../../tools/imports.ts'
import { call, chatBody, jsonHeaders } from '../harness/http.ts'
import { endProgram, freePort, ROOT, startProgram } from '../harness/program.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-image-'))
afterAll(() => {
  chmodSync(APP, 0o700)
  rmSync(dir, { recursive: true, force: true })
})
const APP = join(dir, 'app')

const DOCKERFILE = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
const execute = promisify(execFile)

/** Whether .dockerignore excludes a file: the last pattern that matches it, or a folder above it, decides. */
const patterns = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
function isIgnored(file: string): boolean {
  const parts = file.split('/')
  const paths = parts.map((_, index) => parts.slice(0, index + 1).join('/'))
  return patterns.reduce((ignored, line) => {
    const kept = line.startsWith('!')
    const pattern = kept ? line.slice(1) : line
    return paths.some((path) => matchesGlob(path, pattern)) ? !kept : ignored
  }, false)
}

const FOREIGN = ['node_modules', '.git', '.venv', '.run', 'dist']
const context = globSync('**', { cwd: ROOT, exclude: (name) => FOREIGN.includes(name) })
  .filter((file) => statSync(join(ROOT, file)).isFile())
  .filter((file) => !isIgnored(file))

/** The files of the checkout and the packages that a file needs at run time, directly or not. */
function needs(entry: string): { files: Set<string>; packages: Set<string> } {
  const files = new Set([entry])
  const packages = new Set<string>()
  for (const file of files)
    for (const { specifier } of importsOf(stripTypeScriptTypes(readFileSync(join(ROOT, file), 'utf8')))) {
      if (specifier.startsWith('.')) files.add(relative(ROOT, resolve(ROOT, dirname(file), specifier)))
      else if (!isBuiltin(specifier))
        packages.add(
          specifier
            .split('/')
            .slice(0, specifier.startsWith('@') ? 2 : 1)
            .join('/'),
        )
    }
  return { files, packages }
}

it('is clean for hadolint', async () => {
  const { stdout } = await execute(join(ROOT, '.venv/bin/hadolint'), [join(ROOT, 'Dockerfile')])
  expect(stdout).toBe('')
})

it('has no secrets of an example that is in use', () => {
  for (const file of ['.env', 'secrets/sealing-keys'])
    expect(isIgnored(`examples/compose/${file}`)).toBe(true)
})

it('has every file that the command line imports or reads, and no tests', () => {
  const { files } = needs('cli/main.ts')
  expect(files.size).toBeGreaterThan(100)
  const scripts = globSync('store/lua/**/*.lua', { cwd: ROOT })
  expect(scripts.length).toBeGreaterThan(0)
  expect([...files, ...scripts, 'package.json', 'LICENSE'].filter((file) => !context.includes(file))).toEqual(
    [],
  )
  expect(
    context.filter((file) => /\.test\.ts$|testdata|__fixtures__|^(test|bench|helm|docs)\//.test(file)),
  ).toEqual([])
  expect(context.filter((file) => file.startsWith('tools/')).sort()).toEqual(
    [...needs('tools/pack.ts').files].sort(),
  )
})

it('has every package: none is only a development dependency', () => {
  const manifest = z.object({ dependencies: z.record(z.string(), z.string()) })
  const { dependencies } = manifest.parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')))
  const { packages } = needs('cli/main.ts')
  expect([...packages].filter((name) => !(name in dependencies))).toEqual([])
  expect(DOCKERFILE).toMatch(/npm ci --omit=dev --omit=optional --ignore-scripts/)
})

it('takes its base images from build arguments and runs as a numeric user', () => {
  expect(DOCKERFILE.match(/^(ARG|FROM) .*/gm)).toEqual([
    expect.stringMatching(/^ARG BUILD_IMAGE=.*node:24/),
    expect.stringMatching(/^ARG RUNTIME_IMAGE=.*nodejs24/),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Docker's own variables.
    'FROM ${BUILD_IMAGE} AS build',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Docker's own variables.
    'FROM ${RUNTIME_IMAGE}',
  ])
  const last = DOCKERFILE.slice(DOCKERFILE.lastIndexOf('FROM '))
  expect(last).toMatch(/^USER 65532:65532$/m)
  // The image has no shell.
  expect(last).not.toMatch(/^RUN /m)
})

const named = z.object({ name: z.string(), version: z.string() })
const lock = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string(),
      dev: z.boolean().optional(),
      optional: z.boolean().optional(),
      devOptional: z.boolean().optional(),
    }),
  ),
})

it('has a bill of materials: every package that is installed, and no other', async () => {
  const [, command = ''] = /&& (npm pkg delete [\s\S]*?) > sbom\.cdx\.json/.exec(DOCKERFILE) ?? []
  const [, folder = ''] = /^WORKDIR (\/\w+)\nCOPY package\.json package-lock\.json/m.exec(DOCKERFILE) ?? []
  const cwd = join(dir, 'build', folder)
  const { packages } = lock.parse(JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')))
  const installed = Object.entries(packages).filter(
    ([path, { dev, optional, devOptional }]) => path !== '' && !dev && !optional && !devOptional,
  )
  expect(installed.length).toBeGreaterThan(50)
  // As after `npm ci`: npm reads what the packages say of themselves.
  for (const path of ['', ...installed.map(([path]) => path)]) {
    mkdirSync(join(cwd, path), { recursive: true })
    cpSync(join(ROOT, path, 'package.json'), join(cwd, path, 'package.json'))
  }
  cpSync(join(ROOT, 'package-lock.json'), join(cwd, 'package-lock.json'))
  const { stdout } = await execute('sh', ['-c', command.replaceAll('\\\n', ' ')], {
    cwd,
    maxBuffer: 64 * 1024 * 1024,
  })
  const bill = z
    .object({
      bomFormat: z.literal('CycloneDX'),
      metadata: z.object({ component: named }),
      components: z.array(named),
    })
    .parse(JSON.parse(stdout))
  const { version } = named.parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')))
  expect(bill.metadata.component).toMatchObject({ name: 'sluice', version })
  const expected = installed.map(([path, one]) => `${path.split('node_modules/').at(-1)}@${one.version}`)
  expect(new Set(bill.components.map((one) => `${one.name}@${one.version}`))).toEqual(new Set(expected))
}, 60_000)

/** The words of the entrypoint, without Node. */
function entrypoint(): string[] {
  const [, words = ''] = /^ENTRYPOINT (\[.*\])$/m.exec(DOCKERFILE) ?? []
  const [node, ...args] = z.array(z.string()).parse(JSON.parse(words))
  expect(node).toBe('/nodejs/bin/node')
  return args
}

it('runs without V8’s collections to save memory, like bin/sluice', () => {
  const [, flag = ''] = /^exec "\$node" (--\S+) /m.exec(readFileSync(join(ROOT, 'bin/sluice'), 'utf8')) ?? []
  expect(flag).toBe('--no-memory-reducer')
  expect(entrypoint()).toContain(flag)
})

describe('these files alone, read-only, with the words of the entrypoint', () => {
  beforeAll(async () => {
    const build = join(dir, 'sluice')
    for (const file of context) {
      mkdirSync(join(build, dirname(file)), { recursive: true })
      cpSync(join(ROOT, file), join(build, file))
    }
    const [, command = ''] = /^RUN node (tools\/.*)$/m.exec(DOCKERFILE) ?? []
    await execute(process.execPath, [command], { cwd: build })
    const copied = [...DOCKERFILE.matchAll(/^COPY --from=build (.+) \S+$/gm)]
      .flatMap(([, paths = '']) => paths.split(' '))
      .map((path) => path.replace('/sluice/', ''))
    // Of the bill of materials and the packages there are tests and links of their own.
    const [made, elsewhere] = [copied.slice(0, 2), ['sbom.cdx.json', 'node_modules']]
    expect(copied.filter((path) => !elsewhere.includes(path))).toEqual([...made, 'dist'])
    mkdirSync(APP)
    for (const path of [...made, 'dist']) renameSync(join(build, path), join(APP, path))
    symlinkSync(join(ROOT, 'node_modules'), join(APP, 'node_modules'))
    chmodSync(APP, 0o500)
  })

  it('start every program', async () => {
    const run = (...more: string[]) =>
      execute(process.execPath, [...entrypoint(), ...more], { cwd: APP, env: { NODE_ENV: 'production' } })
    expect((await run('--help')).stdout).toContain('Usage: sluice <command>')
    for (const command of ['controller', 'proxy'])
      await expect(run(command)).rejects.toThrow(/SLUICE_REDIS_URL/)
  })

  it('serve the quickstart, as the documented docker run does', async () => {
    const install = readFileSync(join(ROOT, 'docs/install.md'), 'utf8')
    const [, name = '', value = '', command = ''] =
      /docker run .*--publish 127\.0\.0\.1:8080:8080 --env (\w+)=(\S+) \S+ (\w+)$/m.exec(install) ?? []
    const port = await freePort()
    const program = startProgram(process.execPath, [...entrypoint(), command], {
      cwd: APP,
      env: {
        NODE_ENV: 'production',
        [name]: value,
        SLUICE_PORT: `${port}`,
        SLUICE_ADMIN_PORT: `${await freePort()}`,
        UPSTREAM_PORT: `${await freePort()}`,
      },
    })
    try {
      await program.printed(/sk-quickstart-0123456789abcdef/)
      const answer = await call(`http://127.0.0.1:${port}/v1/chat/completions`, {
        headers: jsonHeaders('sk-quickstart-0123456789abcdef'),
        body: chatBody('example'),
      })
      expect(answer.status).toBe(200)
      // Docker forwards to the container's address, not to its loopback.
      expect(value).toBe('0.0.0.0')
    } finally {
      await endProgram(program)
    }
  })
})
