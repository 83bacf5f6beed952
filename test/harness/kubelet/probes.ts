/** The actions of probes and hooks, and the probes of a running container. */
import { get } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type Action, type Container, type Probe, portNumber } from './pod-spec.ts'

/** How to act on a container. */
export interface Target {
  podIP: string
  container: Container
  /** Exit code of a command in the container; undefined if it took too long. */
  exec(command: string[], timeoutMs: number): Promise<number | undefined>
}

/** Returns why the action failed; undefined if it succeeded. Never rejects. */
export async function act(action: Action, target: Target, timeoutMs: number): Promise<string | undefined> {
  const { exec, httpGet, tcpSocket, sleep } = action
  if (sleep !== undefined) {
    await pause(Math.min(sleep.seconds * 1_000, timeoutMs))
    return undefined
  }
  if (exec !== undefined) {
    const code = await target.exec(exec.command, timeoutMs)
    return code === 0 ? undefined : `the command ended with ${code ?? 'no code in time'}`
  }
  const port = portNumber(httpGet?.port ?? tcpSocket?.port ?? 0, [target.container])
  if (port === undefined) return 'no such port'
  if (tcpSocket !== undefined) return connects(tcpSocket.host ?? target.podIP, port, timeoutMs)
  if (httpGet === undefined) return 'the stand-in does not know this action'
  const headers = Object.fromEntries(httpGet.httpHeaders.map(({ name, value }) => [name, value]))
  return answers(`http://${httpGet.host ?? target.podIP}:${port}${httpGet.path}`, headers, timeoutMs)
}

function answers(
  url: string,
  headers: Record<string, string>,
  timeoutMs: number,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const request = get(
      url,
      { agent: false, headers, signal: AbortSignal.timeout(timeoutMs) },
      (response) => {
        response.resume()
        const status = response.statusCode ?? 0
        resolve(status >= 200 && status < 400 ? undefined : `HTTP status ${status}`)
      },
    )
    request.on('error', (error) => resolve(error.message))
  })
}

function connects(host: string, port: number, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs })
    const end = (problem?: string) => {
      socket.destroy()
      resolve(problem)
    }
    socket.on('connect', () => end())
    socket.on('timeout', () => end('no connection in time'))
    socket.on('error', (error) => end(error.message))
  })
}

/** What the probes of a container find. */
export interface Findings {
  started(): void
  ready(ready: boolean): void
  /** A startup or liveness probe failed too often: the container must be restarted. Called once. */
  unhealthy(reason: string): void
}

/** Probes until `signal` aborts: the startup probe first, then both others side by side. */
export async function probe(target: Target, findings: Findings, signal: AbortSignal): Promise<void> {
  const { startupProbe, livenessProbe, readinessProbe } = target.container
  let failed = false
  const fail = (reason: string) => {
    if (failed || signal.aborted) return
    failed = true
    findings.unhealthy(reason)
  }
  if (startupProbe !== undefined) {
    const passed = await new Promise<boolean>((resolve) => {
      const over = new AbortController()
      signal.addEventListener('abort', () => resolve(false))
      const ended = AbortSignal.any([signal, over.signal])
      void repeat(startupProbe, target, ended, (well, reason) => {
        if (!well) fail(`Startup probe failed: ${reason}`)
        over.abort()
        resolve(well)
      })
    })
    if (!passed || signal.aborted) return
  }
  findings.started()
  if (readinessProbe === undefined) findings.ready(true)
  else void repeat(readinessProbe, target, signal, (well) => findings.ready(well))
  if (livenessProbe !== undefined)
    void repeat(livenessProbe, target, signal, (well, reason) => {
      if (!well) fail(`Liveness probe failed: ${reason}`)
    })
}

/** Reports each time that the thresholds are reached. */
async function repeat(
  settings: Probe,
  target: Target,
  signal: AbortSignal,
  report: (well: boolean, reason: string) => void,
): Promise<void> {
  const waits = (seconds: number) => pause(seconds * 1_000, undefined, { signal }).catch(() => undefined)
  await waits(settings.initialDelaySeconds)
  let [good, bad] = [0, 0]
  while (!signal.aborted) {
    const reason = await act(settings, target, settings.timeoutSeconds * 1_000)
    if (signal.aborted) return
    good = reason === undefined ? good + 1 : 0
    bad = reason === undefined ? 0 : bad + 1
    if (good >= settings.successThreshold) report(true, '')
    else if (bad >= settings.failureThreshold) report(false, reason ?? '')
    await waits(settings.periodSeconds)
  }
}
