/** The probes of the chart's Redis, against a real one: what a kubelet would run. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { until } from '../harness/gateway.ts'
import { endProgram, freePort, type Program, startProgram } from '../harness/program.ts'
import { find, render } from './helm.ts'

const PASSWORD = 'secret'
const dir = mkdtempSync(join(tmpdir(), 'sluice-probes-'))
let port = 0
let redis: Program
const probes = { startup: [''], liveness: [''], readiness: [''] }

const exec = z.object({ exec: z.object({ command: z.array(z.string()).min(1) }) })
const statefulSet = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        containers: z.tuple([
          z.object({ startupProbe: exec, livenessProbe: exec, readinessProbe: exec, env: z.unknown() }),
        ]),
      }),
    }),
  }),
})

beforeAll(async () => {
  const workload = statefulSet.parse(find(await render(), 'StatefulSet', 'sluice-redis'))
  const [container] = workload.spec.template.spec.containers
  expect(container.env).toMatchObject([{ name: 'REDISCLI_AUTH' }])
  probes.startup = container.startupProbe.exec.command
  probes.liveness = container.livenessProbe.exec.command
  probes.readiness = container.readinessProbe.exec.command
  port = await freePort()
  const settings = { port, dir, requirepass: PASSWORD, save: '', 'busy-reply-threshold': 100 }
  redis = startProgram(
    'redis-server',
    Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]),
  )
  await redis.printed(/Ready to accept connections/)
})

afterAll(async () => {
  await endProgram(redis)
  rmSync(dir, { recursive: true, force: true })
})

/** Whether each probe passes. In the pod Redis has its usual port. */
const outcomes = () =>
  Object.fromEntries(
    Object.entries(probes).map(([name, command]) => {
      const words = command.map((word) => word.replace('redis-cli', `redis-cli -p ${port}`))
      const script = words[0] === 'sh' ? words.slice(2) : [words.join(' ')]
      const { status } = spawnSync('sh', ['-c', ...script], {
        env: { PATH: process.env.PATH, REDISCLI_AUTH: PASSWORD },
        timeout: 5_000,
      })
      return [name, status === 0]
    }),
  )

it('pass while Redis answers', () => {
  expect(outcomes()).toEqual({ startup: true, liveness: true, readiness: true })
})

it('take a Redis that is busy out of service, and do not restart it', async () => {
  const busy = startProgram('redis-cli', ['-p', `${port}`, 'EVAL', 'while true do end', '0'], {
    env: { REDISCLI_AUTH: PASSWORD },
  })
  await until(() => !outcomes().readiness, 'a busy Redis')
  expect(outcomes()).toEqual({ startup: true, liveness: true, readiness: false })
  spawnSync('redis-cli', ['-p', `${port}`, 'SCRIPT', 'KILL'], {
    env: { PATH: process.env.PATH, REDISCLI_AUTH: PASSWORD },
  })
  await busy.exited
})

it('restart a Redis that does not answer', async () => {
  process.kill(redis.child.pid ?? 0, 'SIGSTOP')
  expect(outcomes()).toEqual({ startup: false, liveness: false, readiness: false })
  process.kill(redis.child.pid ?? 0, 'SIGCONT')
}, 30_000)
