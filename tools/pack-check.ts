/** Packs the npm package, installs it in an empty folder, and runs its command there. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'sluice-pack-'))
const run = (program: string, args: string[], cwd: string) =>
  execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

const packed = z.tuple([z.object({ filename: z.string(), files: z.array(z.object({ path: z.string() })) })])

try {
  const [{ filename, files }] = packed.parse(
    JSON.parse(run('npm', ['pack', '--json', '--loglevel=error', '--pack-destination', folder], root)),
  )
  const paths = files.map(({ path }) => path)
  const required = [
    'LICENSE',
    'README.md',
    'bin/sluice',
    'dist/cli/main.js',
    'dist/crds/',
    'dist/examples/quickstart/',
  ]
  for (const path of required)
    if (!paths.some((packedPath) => packedPath.startsWith(path))) throw new Error(`the package lacks ${path}`)
  const stray = paths.filter((path) => path.includes('.test.') || /^(?!bin\/).*\.ts$/.test(path))
  if (stray.length > 0) throw new Error(`the package carries ${stray.join(', ')}`)

  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  run('npm', ['install', ...quiet, join(folder, filename)], folder)
  const help = run(join(folder, 'node_modules/.bin/sluice'), ['--help'], folder)
  if (!help.includes('sluice dev')) throw new Error(`the installed command printed no help:\n${help}`)
  console.log(`package: ${paths.length} files, installs and runs`)
} finally {
  rmSync(folder, { recursive: true, force: true })
  rmSync(join(root, 'dist'), { recursive: true, force: true })
}
