/** A private Kubernetes control plane as children of this process, for tests, which may also break it. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Kubectl, kubectlFor } from './kubectl.ts'
import { freePorts } from './ports.ts'
import { endProcess, type ManagedProcess, startProcess } from './process.ts'
import {
  type AdminAccess,
  type ControllerManager,
  type ControlPlanePorts,
  controlPlanePrograms,
} from './programs.ts'

interface ControlPlaneOptions {
  /** Folder for data, certificates, kubeconfig and logs. Existing files are reused. */
  dir: string
  /** Default: free ones. */
  ports?: ControlPlanePorts
  /**
   * Default false: without it nothing owned is collected, no namespace ends or gets a ServiceAccount, and the roles
   * edit, view and admin are empty. With "workloads" also Deployments, StatefulSets and Jobs get pods, which only
   * test/harness/kubelet runs.
   */
  controllerManager?: ControllerManager
}

export interface ControlPlane extends AdminAccess {
  ports: ControlPlanePorts
  processes: { etcd: ManagedProcess; apiserver: ManagedProcess; controllerManager?: ManagedProcess }
  /** kubectl as the administrator. */
  kubectl: Kubectl
  /** Stops every process; the folder stays. */
  stop(): Promise<void>
}

/** Resolves when the API server is ready. Rejects with the end of a log, or with the name of a missing binary. */
export async function startControlPlane({
  dir,
  ports,
  controllerManager = false,
}: ControlPlaneOptions): Promise<ControlPlane> {
  mkdirSync(dir, { recursive: true })
  const chosen = ports ?? (await freeControlPlanePorts())
  const programs = await controlPlanePrograms(dir, chosen, controllerManager)
  const logDir = join(dir, 'log')
  const running: ManagedProcess[] = []
  const start = async (name: 'etcd' | 'apiserver' | 'controllerManager') => {
    const started = await startProcess(programs[name], logDir)
    running.unshift(started)
    return started
  }
  const stop = async () => {
    // etcd last. Without it an API server takes a minute to stop.
    for (const each of running.splice(0)) await endProcess(each, 'SIGTERM')
  }
  try {
    const processes = {
      etcd: await start('etcd'),
      apiserver: await start('apiserver'),
      ...(controllerManager !== false && { controllerManager: await start('controllerManager') }),
    }
    const { access } = programs
    return { ...access, ports: chosen, processes, kubectl: kubectlFor(access.kubeconfig), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function freeControlPlanePorts(): Promise<ControlPlanePorts> {
  const [etcd = 0, etcdPeer = 0, apiserver = 0] = await freePorts(3)
  return { etcd, etcdPeer, apiserver }
}
