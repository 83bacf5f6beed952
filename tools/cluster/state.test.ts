import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { endAll, ensureRunning, mustRun } from './detached.ts'
import { freePort } from './ports.ts'
import { exampleUpstream } from './servers.ts'
import { beginning, ClusterState } from './state.ts'

let dir: string
let child: ChildProcess
let pid: number
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-state-'))
  child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await once(child, 'spawn')
  pid = child.pid ?? 0
})
afterEach(async () => {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  rmSync(dir, { recursive: true })
})

it('remembers processes and ports', async () => {
  const first = new ClusterState(dir)
  first.add('etcd', pid)
  const port = await first.port('etcd')
  const second = new ClusterState(dir)
  expect(second.running()).toEqual([{ name: 'etcd', pid }])
  expect(await second.port('etcd')).toBe(port)
  expect(await second.port('redis')).not.toBe(port)
})

it('ends a process and forgets it', async () => {
  const state = new ClusterState(dir)
  state.add('etcd', pid)
  await endAll(state, ['etcd', 'never-started'])
  expect(beginning(pid)).toBeUndefined()
  expect(state.running()).toEqual([])
})

it('does not touch another process that has the pid of a started one', async () => {
  new ClusterState(dir).add('etcd', pid)
  const file = join(dir, 'cluster.json')
  const recorded = JSON.parse(readFileSync(file, 'utf8')) as { processes: { etcd: { began: string } } }
  recorded.processes.etcd.began = '1'
  writeFileSync(file, JSON.stringify(recorded))
  const state = new ClusterState(dir)
  expect(state.running()).toEqual([])
  await endAll(state, ['etcd'])
  expect(beginning(pid)).toBeDefined()
})

it('starts nothing on a port of another program, which would answer in its place', async () => {
  const port = await freePort()
  const other = createServer((_, res) => res.end()).listen(port, '127.0.0.1')
  await once(other, 'listening')
  const state = new ClusterState(dir)
  try {
    await expect(ensureRunning(state, exampleUpstream(port))).rejects.toThrow(
      `upstream cannot start: port ${port} of 127.0.0.1 is taken; choose another one with UPSTREAM_PORT`,
    )
    expect(state.running()).toEqual([])
  } finally {
    other.close()
  }
})

it('names a program that ended after it was ready, with the end of its log', async () => {
  const state = new ClusterState(dir)
  const spec = {
    name: 'short',
    command: process.execPath,
    args: ['-e', 'console.error("the last word"); setInterval(() => {}, 1000)'],
    ready: async () => readFileSync(join(dir, 'log/short.log'), 'utf8').includes('the last word'),
  }
  await ensureRunning(state, spec)
  expect(() => mustRun(state, ['short'])).not.toThrow()
  await endAll(state, ['short'])
  expect(() => mustRun(state, ['short'])).toThrow(/short has ended[\s\S]*the last word/)
})

it('starts a program once, and reports the end of its log if it ends at once', async () => {
  const state = new ClusterState(dir)
  const program = (name: string, script: string) => ({
    name,
    command: process.execPath,
    args: ['-e', script],
    ready: async () => name === 'stays',
  })
  const stays = program('stays', 'setInterval(() => {}, 1000)')
  try {
    await ensureRunning(state, stays)
    const [before] = state.running()
    await ensureRunning(new ClusterState(dir), stays)
    expect(new ClusterState(dir).running()).toEqual([before])
  } finally {
    await endAll(state, ['stays'])
  }
  await expect(ensureRunning(state, program('ends', 'console.error("the reason")'))).rejects.toThrow(
    /ends ended during its start[\s\S]*the reason/,
  )
})
