import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const SCRIPT = join(import.meta.dirname, 'packages.sh')
const COMMANDS = [
  'make',
  'git',
  'openssl',
  'curl',
  'python3',
  'redis-server',
  'nginx',
  'prometheus',
  'faketime',
]

/** A PATH of its own: commands that do nothing, and a shell. */
let bin: string
beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), 'sluice-packages-'))
  symlinkSync('/bin/bash', join(bin, 'bash'))
  for (const name of COMMANDS) command(name, 'exit 0')
})
afterEach(() => rmSync(bin, { recursive: true, force: true }))

const command = (name: string, script: string) =>
  writeFileSync(join(bin, name), `#!/bin/bash\n${script}\n`, { mode: 0o755 })

function run(user: number): { status: number | null; stderr: string; installed: string } {
  command('id', `echo ${user}`)
  const { status, stderr } = spawnSync('/bin/bash', [SCRIPT], { env: { PATH: bin }, encoding: 'utf8' })
  let installed = ''
  try {
    installed = readFileSync(join(bin, 'log'), 'utf8')
  } catch {
    // Nothing was installed.
  }
  return { status, stderr, installed }
}

const aptGet = () => command('apt-get', `echo "$*" >> '${join(bin, 'log')}'`)

test('installs nothing if nothing is missing', () => {
  aptGet()
  expect(run(0)).toEqual({ status: 0, stderr: '', installed: '' })
})

test('installs missing packages for root', () => {
  aptGet()
  rmSync(join(bin, 'redis-server'))
  rmSync(join(bin, 'prometheus'))
  expect(run(0)).toEqual({
    status: 0,
    stderr: '',
    installed: 'update -qq\ninstall -y --no-install-recommends redis-server prometheus -qq\n',
  })
})

test('prints the command for any other user', () => {
  aptGet()
  rmSync(join(bin, 'faketime'))
  const { status, stderr, installed } = run(1000)
  expect([status, installed]).toEqual([1, ''])
  expect(stderr).toContain('Run: sudo apt-get install -y --no-install-recommends faketime\n')
})

test('prints the names on a system without apt-get', () => {
  rmSync(join(bin, 'redis-server'))
  command('python3', 'exit 1')
  const { status, stderr } = run(0)
  expect([status, stderr]).toEqual([
    1,
    'The tests need these commands, which are missing: redis-server python3-venv\n',
  ])
})
