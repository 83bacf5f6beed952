/**
 * One control plane for a whole test run. It starts on the first request to the address that this setup provides, so a
 * run that does not need it pays nothing. It stops at the end of the run.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import type { ControlPlane } from '../../tools/cluster/control-plane.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Answers POST with a SharedControlPlane, or with 500 and the reason. */
    controlPlaneAddress: string
  }
}

/** What a test needs to connect to it. */
export interface SharedControlPlane {
  kubeconfig: string
  url: string
  tls: { ca: string; cert: string; key: string }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let started: Promise<Started> | undefined
  const server = createServer((_, response) => {
    started ??= start()
    started.then(
      ({ controlPlane: { kubeconfig, url, tls } }) => response.end(JSON.stringify({ kubeconfig, url, tls })),
      (error: unknown) => response.writeHead(500).end(error instanceof Error ? error.message : String(error)),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  project.provide('controlPlaneAddress', `http://127.0.0.1:${port}`)

  return async () => {
    server.close()
    await started?.then(
      ({ end }) => end(),
      () => undefined,
    )
  }
}

interface Started {
  controlPlane: ControlPlane
  end(): Promise<void>
}

async function start(): Promise<Started> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-control-plane-'))
  const { startControlPlane } = await import('../../tools/cluster/control-plane.ts')
  const { applyCrds } = await import('../../tools/cluster/crds.ts')
  const controlPlane = await startControlPlane({ dir, controllerManager: true })
  const end = async () => {
    await controlPlane.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    await applyCrds(controlPlane.kubectl)
    return { controlPlane, end }
  } catch (error) {
    await end()
    throw error
  }
}
