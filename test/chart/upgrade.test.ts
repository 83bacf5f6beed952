/** What an upgrade restarts. */
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { KUBERNETES_VERSION } from '../assets/binaries.ts'
import { laterChart } from '../install/other-chart.ts'
import { CHART, find, helm, manifests, specOf } from './helm.ts'

const later = laterChart('0.2.0')
afterAll(() => rmSync(dirname(later), { recursive: true }))

/** The pods of a workload as the chart makes them. */
async function template(chart: string, kind: string, name: string, values: object = {}): Promise<unknown> {
  const version = ['--kube-version', KUBERNETES_VERSION]
  const all = manifests(
    await helm(['template', 'sluice', chart, '--namespace', 'gateway', ...version], values),
  )
  return specOf(find(all, kind, name)).template
}

describe('Redis', () => {
  const redis = (chart: string, values = {}) => template(chart, 'StatefulSet', 'sluice-redis', values)

  it('goes on running through an upgrade of the chart: metered requests would be refused meanwhile', async () => {
    expect(await redis(later)).toEqual(await redis(CHART))
  })

  it('restarts for another configuration, which it reads only when it starts', async () => {
    expect(await redis(CHART, { redis: { maxMemory: '1gb' } })).not.toEqual(await redis(CHART))
  })
})
