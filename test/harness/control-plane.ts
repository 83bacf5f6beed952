/** The control plane that all tests of a run share. It has the CRDs; each test works in its own namespace. */
import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { z } from 'zod'
import { type Kubectl, kubectlFor, mustKubectl } from '../../tools/cluster/kubectl.ts'
import type { SharedControlPlane } from '../global/control-plane.ts'

export interface TestControlPlane extends SharedControlPlane {
  /** With the administrator's rights. */
  kubectl: Kubectl
  /** Creates a namespace with a unique name. */
  createNamespace(): Promise<string>
}

const shared = z.object({
  kubeconfig: z.string(),
  url: z.string(),
  tls: z.object({ ca: z.string(), cert: z.string(), key: z.string() }),
})

/**
 * Starts the control plane unless it is running, which takes some seconds: call it in `beforeAll`. Tests that break a
 * control plane use `startControlPlane` of tools/cluster.
 */
export async function controlPlane(): Promise<TestControlPlane> {
  const answer = await fetch(inject('controlPlaneAddress'), { method: 'POST' })
  if (!answer.ok) throw new Error(`no control plane: ${await answer.text()}`)
  const access = shared.parse(await answer.json())
  const kubectl = kubectlFor(access.kubeconfig)
  return {
    ...access,
    kubectl,
    createNamespace: async () => {
      const name = `test-${randomBytes(5).toString('hex')}`
      await mustKubectl(kubectl, 'create', 'namespace', name)
      return name
    },
  }
}
