/** The Dockerfile, checked without a container engine: it copies everything that the programs need. */
import { execFile } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { isBuiltin, stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, matchesGlob, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { z } from 'zod'
import { importsOf } from '../../tools/imports.ts'
import { ROOT } from '../harness/program.ts'

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

it('has every file that the command line imports or reads, and no tests', () => {
  const { files } = needs('cli/main.ts')
  expect(files.size).toBeGreaterThan(100)
  const scripts = globSync('store/lua/**/*.lua', { cwd: ROOT })
  expect(scripts.length).toBeGreaterThan(0)
  expect([...files, ...scripts, 'package.json', 'LICENSE'].filter((file) => !context.includes(file))).toEqual(
    [],
  )
  expect(
    context.filter((file) => /\.test\.ts$|testdata|__fixtures__|^(test|tools|bench|helm|docs)\//.test(file)),
  ).toEqual([])
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

const dir = mkdtempSync(join(tmpdir(), 'sluice-image-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

it('starts from these files alone, with the words of the entrypoint', async () => {
  for (const file of context) {
    mkdirSync(join(dir, dirname(file)), { recursive: true })
    cpSync(join(ROOT, file), join(dir, file))
  }
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
  chmodSync(dir, 0o500)
  const [, words = ''] = /^ENTRYPOINT (\[.*\])$/m.exec(DOCKERFILE) ?? []
  const [node, ...args] = z.array(z.string()).parse(JSON.parse(words))
  expect(node).toBe('/nodejs/bin/node')
  const run = (...more: string[]) =>
    execute(process.execPath, [...args, ...more], { cwd: dir, env: { NODE_ENV: 'production' } })
  expect((await run('--help')).stdout).toContain('Usage: sluice <command>')
  for (const command of ['controller', 'proxy'])
    await expect(run(command)).rejects.toThrow(/SLUICE_REDIS_URL/)
})
