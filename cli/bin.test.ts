/** What bin/sluice starts, with a stand-in for Node that prints its arguments. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')

function started(...args: string[]): string[] {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-bin-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const node = join(dir, 'node')
  writeFileSync(node, '#!/bin/sh\n[ "$1" = --version ] && echo v24.9.0 && exit\nprintf "%s\\n" "$@"\n')
  chmodSync(node, 0o755)
  const env = { PATH: `${dir}:${process.env.PATH}` }
  const output = execFileSync(join(ROOT, 'bin/sluice'), args, { env, encoding: 'utf8' })
  return output.trimEnd().split('\n')
}

const MAIN = join(ROOT, 'cli/main.ts')

test('every command runs without V8’s collections to save memory', () => {
  for (const args of [['proxy', '--workers', '2'], ['dev'], ['controller', '--config', 'a b']])
    expect(started(...args)).toEqual(['--no-memory-reducer', MAIN, ...args])
})
