/** Installs the CRDs in crds/ and waits until the API server serves them. */
import { join } from 'node:path'
import { KINDS } from '../../contract/api/index.ts'
import { GROUP } from '../../contract/api/kind.ts'
import { type Kubectl, mustKubectl } from './kubectl.ts'

const LIST_TRIES = 50
const CRDS = join(import.meta.dirname, '../../crds')

export const CRD_NAMES = Object.values(KINDS).map(({ plural }) => `${plural}.${GROUP}`)

/** Applies server-side, so that annotations hold no copy. Rejects if the API server refuses one. */
export async function applyCrds(kubectl: Kubectl): Promise<void> {
  await mustKubectl(kubectl, 'apply', '--server-side', '--force-conflicts', '-f', CRDS)
  await mustKubectl(
    kubectl,
    ...['wait', '--for=condition=Established', '--timeout=30s'],
    ...CRD_NAMES.map((name) => `crd/${name}`),
  )
  // The server lists a new kind a moment after it serves it, and clients use the list.
  for (let tries = 1; (await kubectl('get', 'sluice', '--all-namespaces')).status !== 0; tries++)
    if (tries === LIST_TRIES) throw new Error('the API server does not list the kinds of sluice.dev')
}
