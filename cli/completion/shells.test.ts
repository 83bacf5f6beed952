/** The scripts in real shells; fish and zsh where they are installed. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const MAIN = join(import.meta.dirname, '../main.ts')

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-completion-'))
  for (const name of ['resources.yaml', 'a folder.json']) writeFileSync(join(dir, name), '')
  for (const shell of ['bash', 'fish', 'zsh']) {
    const made = spawnSync(process.execPath, [MAIN, 'completion', shell], { encoding: 'utf8' })
    expect([made.status, made.stderr]).toEqual([0, ''])
    writeFileSync(join(dir, `script.${shell}`), made.stdout)
  }
})
afterAll(() => rmSync(dir, { recursive: true }))

/** What bash offers for the last word of a line. */
function inBash(...words: string[]): string[] {
  const line = ['sluice', ...words].map((word) => `'${word}'`).join(' ')
  const script = `source script.bash
    complete -p sluice >/dev/null
    COMP_WORDS=(${line}); COMP_CWORD=${words.length}
    _sluice
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-euc', script], { cwd: dir, encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout.split('\n').filter((word) => word !== '')
}

/** What fish offers, without descriptions; undefined if fish is not installed. */
function inFish(line: string): string[] | undefined {
  const script = `source script.fish; complete -C "${line}"`
  const { stdout, stderr, error } = spawnSync('fish', ['--no-config', '-c', script], {
    ...{ cwd: dir, encoding: 'utf8', env: { PATH: process.env.PATH, HOME: dir } },
  })
  if (error !== undefined) return undefined
  expect(stderr).toBe('')
  return stdout.split('\n').flatMap((each) => each.split('\t')[0] || [])
}

describe('bash', () => {
  it.each([
    [['sta'], ['status']],
    [
      ['ledger', ''],
      ['verify', 'list', 'adjust', 'restore', 'help', '--help'],
    ],
    [['ledger', 'adj'], ['adjust']],
    [
      ['ledger', 'list', '--s'],
      ['--since', '--sub'],
    ],
    [
      ['status', '-o', ''],
      ['json', 'table'],
    ],
    [['usage', '--output', 'c'], ['csv']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish', '--help'],
    ],
    // After the value of an option comes the command's next word again.
    [['status', '-o', 'json', '--ad'], ['--admin']],
    // A value that is a word of its own is not taken for a command.
    [['explain', '--key', 'ledger', '--mo'], ['--model']],
    [['explain', '--key', ''], []],
    [['validate', '-f', 'res'], ['resources.yaml']],
    [['key', 'name', 'a f'], ['a folder.json']],
    [['controller', '--config', 'res'], ['resources.yaml']],
  ])('sluice %j: %j', (words, offered) => {
    expect(inBash(...words)).toEqual(offered)
  })

  it('offers every command', () => {
    const { stdout } = spawnSync(process.execPath, [MAIN, '--help'], { encoding: 'utf8' })
    const listed = [...stdout.matchAll(/^ {2}([a-z]+) +\w/gm)].map(([, name]) => name)
    expect(listed.length).toBeGreaterThan(10)
    expect(inBash('')).toEqual(expect.arrayContaining(listed))
  })
})

describe('fish', () => {
  it.each([
    ['sluice sta', ['status']],
    ['sluice ledger adj', ['adjust']],
    ['sluice status -o ', ['json', 'table']],
    ['sluice explain --key ledger --mo', ['--model']],
    ['sluice validate -f res', ['resources.yaml']],
  ])('%s: %j', (line, offered) => {
    const found = inFish(line)
    if (found !== undefined) expect(found).toEqual(offered)
  })
})

it('zsh loads the script and completes with it', () => {
  const script = `source script.zsh; [[ $_comps[sluice] == *_sluice* ]] || exit 3
    emulate -L sh; COMP_WORDS=(sluice ledger adj); COMP_CWORD=2; _sluice; print -rl -- "\${COMPREPLY[@]}"`
  const { stdout, stderr, status, error } = spawnSync('zsh', ['-fc', script], {
    ...{ cwd: dir, encoding: 'utf8', env: { PATH: process.env.PATH, HOME: dir } },
  })
  if (error !== undefined) return
  expect([status, stderr]).toEqual([0, ''])
  // Its compgen offers all words; zsh itself compares them with what was typed.
  expect(stdout.trim().split('\n')).toEqual(['verify', 'list', 'adjust', 'restore', 'help', '--help'])
})
