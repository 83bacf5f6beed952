/** What `sluice controller --config` says to settings that cannot work. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSluice } from '../../harness/program.ts'

let dir: string
let good: Record<string, string>
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-folder-start-'))
  writeFileSync(join(dir, 'keys'), `k1:${Buffer.alloc(32, 1).toString('base64')}\n`)
  writeFileSync(join(dir, 'file'), '')
  good = {
    // Nothing listens there: a program that gets so far waits for Redis.
    SLUICE_REDIS_URL: 'redis://127.0.0.1:1',
    SLUICE_SEALING_KEYS_FILE: join(dir, 'keys'),
    SLUICE_STATE_DIR: dir,
  }
})
afterAll(() => rmSync(dir, { recursive: true }))

test.each([
  [2, 'SLUICE_STATE_DIR: must name a folder that outlives Redis', { SLUICE_STATE_DIR: '' }],
  [2, 'not a folder that this user may write to', { SLUICE_STATE_DIR: '/nowhere' }],
  [2, 'not a folder that this user may write to', { SLUICE_STATE_DIR: '{dir}/file' }],
  [2, 'SLUICE_REDIS_URL: must name the Redis', { SLUICE_REDIS_URL: '' }],
  [2, 'SLUICE_SEALING_KEYS_FILE: must name the file', { SLUICE_SEALING_KEYS_FILE: '' }],
])('exit code %i: %s', async (code, message, wrong: Record<string, string>) => {
  const changed = Object.fromEntries(
    Object.entries({ ...good, ...wrong }).map(([name, value]) => [name, value.replace('{dir}', dir)]),
  )
  const env = Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== ''))
  const program = startSluice(env, ['controller', '--config', dir])
  expect(await program.exited).toBe(code)
  expect(program.output()).toContain(message)
})

test('a folder that does not exist ends the start, with its name', async () => {
  const program = startSluice(good, ['controller', '--config', '/nowhere'])
  expect(await program.exited).toBe(1)
  expect(program.output()).toContain('/nowhere is not a folder that can be read (ENOENT)')
})

test('it starts while Redis is away, and stops on SIGTERM', async () => {
  const program = startSluice(good, ['controller', '--config', dir])
  await program.printed(/"msg":"watching resources"/)
  await program.printed(/the store does not say who leads/)
  program.child.kill('SIGTERM')
  expect(await program.exited).toBe(0)
})
