/** The status of a pod, from its containers. */
import type { ContainerRun } from './container-run.ts'
import type { Pod } from './pod-spec.ts'

interface Facts {
  podIP: string
  startTime: string
  /** Whether all init containers have ended well. */
  initialised: boolean
  inits: readonly ContainerRun[]
  containers: readonly ContainerRun[]
}

export interface Condition {
  type: string
  status: 'True' | 'False'
  lastTransitionTime: string
}

/** `before` are the conditions of the last status: a time moves only when its status does. */
export function statusOf(pod: Pod, facts: Facts, before: readonly Condition[]) {
  const { podIP, startTime, initialised, inits, containers } = facts
  const all = pod.spec.containers.length
  const ready = containers.length === all && containers.every((each) => each.ready)
  const now = new Date().toISOString()
  const condition = (type: string, holds: boolean): Condition => {
    const status = holds ? 'True' : 'False'
    const old = before.find((each) => each.type === type)
    return { type, status, lastTransitionTime: old?.status === status ? old.lastTransitionTime : now }
  }
  return {
    phase: phaseOf(pod, facts),
    podIP,
    podIPs: [{ ip: podIP }],
    hostIP: '127.0.0.1',
    startTime,
    conditions: [
      condition('PodScheduled', true),
      condition('Initialized', initialised),
      condition('ContainersReady', ready),
      condition('Ready', ready),
    ],
    initContainerStatuses: statuses(pod.spec.initContainers, inits),
    containerStatuses: statuses(pod.spec.containers, containers),
  }
}

function statuses(specs: Pod['spec']['containers'], runs: readonly ContainerRun[]) {
  return specs.map(({ name, image }) => {
    const run = runs.find((each) => each.name === name)
    return {
      name,
      image,
      imageID: image,
      containerID: run?.pid === undefined ? '' : `process://${run.pid}`,
      state: run?.state ?? { waiting: { reason: 'PodInitializing' } },
      lastState: run?.lastState ?? {},
      ready: run?.ready ?? false,
      started: run?.started ?? false,
      restartCount: run?.restartCount ?? 0,
    }
  })
}

function phaseOf({ spec }: Pod, { inits, containers, initialised }: Facts): string {
  const failedForGood = (run: ContainerRun) => (run.exitCode ?? 0) !== 0 && spec.restartPolicy === 'Never'
  if (!initialised) return inits.some(failedForGood) ? 'Failed' : 'Pending'
  if (containers.length < spec.containers.length) return 'Pending'
  const codes = containers.map(({ exitCode }) => exitCode)
  if (spec.restartPolicy !== 'Always' && codes.every((code) => code !== undefined)) {
    if (codes.every((code) => code === 0)) return 'Succeeded'
    if (spec.restartPolicy === 'Never') return 'Failed'
  }
  return containers.some(({ state }) => !('waiting' in state) || state.waiting.reason === 'CrashLoopBackOff')
    ? 'Running'
    : 'Pending'
}
