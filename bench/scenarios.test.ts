import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeConfig } from './config.ts'
import { startEmbedded } from './gateway.ts'
import { measure } from './measure.ts'
import { startUpstream, type Upstream } from './rig.ts'
import { SCENARIOS, tokensOf } from './scenarios.ts'
import { RUN, startPassthrough, type Target } from './targets.ts'

const KEYS = 20
const config = join(RUN, `config-test-${process.pid}`)
let upstream: Upstream
let gateway: Target
let floor: Target
beforeAll(async () => {
  upstream = await startUpstream()
  writeConfig(config, upstream.port, { scenarios: SCENARIOS, keys: KEYS })
  floor = await startPassthrough(upstream)
  gateway = await startEmbedded({ config, keys: KEYS })
}, 120_000)
afterAll(async () => {
  await Promise.all([gateway?.stop(), floor?.stop()])
  upstream?.stop()
  rmSync(config, { recursive: true, force: true })
})

test.each(SCENARIOS.map((scenario) => [scenario.name, scenario] as const))(
  'gateway and passthrough serve the scenario, and all have counted the same: %s',
  async (_, scenario) => {
    const quiet = { ...scenario, clients: Math.min(4, scenario.clients) }
    for (const target of [floor, gateway]) {
      const measured = await measure(target, quiet, { upstream, durationMs: 50 })
      expect(measured.void).toBeUndefined()
      expect(measured.units).toBe(measured.requests * Math.max(1, tokensOf(scenario)))
    }
  },
)
