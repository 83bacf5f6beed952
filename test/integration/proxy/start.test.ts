/** What a proxy loads to start: each file costs time at every start, and memory in every process. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadedModules, recordingTo } from '../../harness/modules.ts'
import { startProxyProgram } from './program.ts'
import { startWorld, statusOf, UNMETERED, type World } from './world.ts'

/** Of the programs' packages; they load others. */
const PACKAGES = ['express', 'ioredis', 'lru-cache', 'pino', 'prom-client', 'undici', 'ws', 'zod']
/** Of the programs' packages, those for other commands. */
const OTHERS = ['@kubernetes/client-node', 'commander', 'yaml']
/** Own files and those of packages. */
const MAX_FILES = 1_050

let world: World
const dir = mkdtempSync(join(tmpdir(), 'sluice-modules-'))
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => {
  await world.stop()
  rmSync(dir, { recursive: true })
})

test('a proxy loads its own room and what that needs: nothing of the controller, no parser of commands', async () => {
  const file = join(dir, 'modules')
  const proxy = await startProxyProgram(world, recordingTo(file))
  expect(await statusOf(proxy, UNMETERED)).toBe(200)
  process.kill(proxy.pid, 'SIGTERM')
  expect(await proxy.program.exited).toBe(0)

  const { own, packages, files } = loadedModules(file)
  expect(own).toContain('proxy/pipeline/serve.ts')
  const rooms = new Set(own.filter((path) => !path.startsWith('test/')).map((path) => path.split('/')[0]))
  expect([...rooms].sort()).toEqual(['admin', 'cli', 'contract', 'kit', 'proxy', 'store'])
  expect(
    own.filter((path) => /^cli\/(command-line|commands|keys|prices|ledger|resources)/.test(path)),
  ).toEqual([])
  expect(own.filter((path) => path.startsWith('store/embedded/'))).toEqual([])
  expect([...packages].filter((name) => [...PACKAGES, ...OTHERS].includes(name)).sort()).toEqual(PACKAGES)
  expect(files).toBeLessThan(MAX_FILES)
})
