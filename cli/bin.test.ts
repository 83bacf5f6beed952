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

test('a proxy runs without V8’s collections to save memory', () => {
  expect(started('proxy', '--workers', '2')).toEqual(['--no-memory-reducer', MAIN, 'proxy', '--workers', '2'])
})

test('other commands run without flags', () => {
  expect(started('dev')).toEqual([MAIN, 'dev'])
  expect(started('controller', '--config', 'a b')).toEqual([MAIN, 'controller', '--config', 'a b'])
})
