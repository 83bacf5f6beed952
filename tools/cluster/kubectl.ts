/** kubectl as a function. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { binary } from '../../test/assets/binaries.ts'

interface KubectlOutcome {
  stdout: string
  stderr: string
  /** Exit code; -1 when a signal ended it. */
  status: number
}

/**
 * Runs kubectl with these arguments, and `{ input }` as the last one for its standard input:
 * `kubectl('apply', '-f', '-', { input: yaml })`. Does not reject if kubectl fails: look at the status.
 */
export type Kubectl = (...args: (string | { input: string })[]) => Promise<KubectlOutcome>

export function kubectlFor(kubeconfig: string): Kubectl {
  // kubectl caches what it learns of a server by its address, which another cluster may have had before.
  const own = ['--kubeconfig', kubeconfig, '--cache-dir', join(dirname(kubeconfig), 'kubectl-cache')]
  return async (...args) => {
    const words = args.filter((arg) => typeof arg === 'string')
    const child = spawn(binary('kubectl'), [...own, ...words])
    const output = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].setEncoding('utf8').on('data', (chunk: string) => {
        output[stream] += chunk
      })
    child.stdin.on('error', () => undefined)
    child.stdin.end(args.find((arg) => typeof arg !== 'string')?.input ?? '')
    const [code]: unknown[] = await once(child, 'close')
    return { ...output, status: typeof code === 'number' ? code : -1 }
  }
}

/** Returns the standard output of kubectl. Rejects with kubectl's own message if it fails. */
export async function mustKubectl(kubectl: Kubectl, ...args: Parameters<Kubectl>): Promise<string> {
  const { stdout, stderr, status } = await kubectl(...args)
  if (status !== 0)
    throw new Error(`kubectl ${args.filter((arg) => typeof arg === 'string').join(' ')}: ${stderr}`)
  return stdout
}
