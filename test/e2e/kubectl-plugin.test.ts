/** `kubectl sluice`: kubectl finds the command that npm installs by its name, and passes on arguments and exit codes. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { binary } from '../assets/binaries.ts'
import { ROOT } from '../harness/program.ts'

const manifest = z.object({ version: z.string(), bin: z.record(z.string(), z.string()) })
const { version, bin } = manifest.parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')))

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-plugin-'))
  // As npm does.
  for (const [name, target] of Object.entries(bin)) symlinkSync(join(ROOT, target), join(dir, name))
})
afterAll(() => rmSync(dir, { recursive: true }))

function kubectl(...args: string[]) {
  const env = { ...process.env, PATH: `${dir}:${process.env.PATH}`, HOME: dir }
  const { status, stdout, stderr } = spawnSync(binary('kubectl'), args, { encoding: 'utf8', env, cwd: dir })
  return { status, stdout, stderr }
}

test('kubectl lists it as a plugin', () => {
  expect(kubectl('plugin', 'list').stdout).toContain(join(dir, 'kubectl-sluice'))
})

test('kubectl sluice is sluice', () => {
  expect(kubectl('sluice', '--version')).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' })
  const { stdout } = kubectl('sluice', 'key', 'quickstart', join(ROOT, 'examples/quickstart'))
  expect(stdout).toBe('sk-quickstart-0123456789abcdef\n')
  const wrong = kubectl('sluice', 'stauts')
  expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining('did you mean status?')])
})
