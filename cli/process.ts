/** What every program of the command line shares: settings, output, signals, failures to start. */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import pino, { type Logger } from 'pino'
import { type Environment, EnvironmentError, readEnvironment, redactedEnvironment } from '../contract/env.ts'
import { type Output, openOutput } from './output.ts'

/** A program that has read its settings. */
export interface Program {
  env: Environment
  /** Name of this process, unique among its peers. */
  instance: string
  log: Logger
  out: Output
}

/**
 * Reads the settings and opens the log. Returns undefined for bad settings, after printing them to standard error and
 * setting exit code 2. `message` is the first line of the log, which has the chosen settings; undefined: it is not logged.
 */
export function openProgram(processEnv: NodeJS.ProcessEnv, message?: string): Program | undefined {
  const read = settingsOf(processEnv)
  if (read === undefined) return undefined
  const { env, unknown, unusable } = read
  const out = openOutput(env.SLUICE_LOG_FORMAT)
  const options = {
    level: env.SLUICE_LOG_LEVEL,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (level: string) => ({ level }) },
  }
  const log = pino(options, out.destination)
  const instance = env.SLUICE_INSTANCE ?? `${hostname()}-${randomBytes(4).toString('hex')}`
  if (message === undefined) return { env, instance, log, out }
  for (const name of unknown)
    log.warn({ name }, 'this is not a setting and has no effect; see docs/environment.md')
  for (const name of unusable)
    log.warn(
      { name },
      `this is not an http:// or https:// address and has no effect; SLUICE_${name} takes precedence`,
    )
  const settings = Object.entries(redactedEnvironment(env))
  const chosen = Object.fromEntries(settings.filter(([name]) => processEnv[name]))
  log.debug({ settings: Object.fromEntries(settings) }, 'all settings')
  log.info({ settings: chosen }, message)
  return { env, instance, log, out }
}

function settingsOf(processEnv: NodeJS.ProcessEnv): ReturnType<typeof readEnvironment> | undefined {
  try {
    return readEnvironment(processEnv)
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error
    refuseSettings(error.message)
    return undefined
  }
}

function refuseSettings(message: string): void {
  console.error(message)
  process.exitCode = 2
}

/** Ends a program that could not start. `ports`: settings of ports with their values, to explain a taken port. */
export function refuseStart(error: unknown, out: Output, ports: Record<string, number>): void {
  out.close()
  const { text, code } = startFailure(error, ports)
  console.error(text)
  process.exitCode = code
}

/** The settings that choose ports, with their values. */
export function portsOf({ env }: Pick<Program, 'env'>): Record<string, number> {
  return { SLUICE_PORT: env.SLUICE_PORT, SLUICE_ADMIN_PORT: env.SLUICE_ADMIN_PORT }
}

/** What a program prints that could not start, and its exit code. */
export function startFailure(error: unknown, ports: Record<string, number>): { text: string; code: number } {
  if (error instanceof EnvironmentError) return { text: error.message, code: 2 }
  return { text: `sluice: ${startProblem(error, ports)}`, code: 1 }
}

/** Why the program did not start; for a taken port with the setting that changes it. */
export function startProblem(error: unknown, ports: Record<string, number>): string {
  if (!(error instanceof Error)) return String(error)
  if (!('code' in error && 'port' in error)) return error.message
  const { code, port } = error
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return error.message
  const names = Object.keys(ports).filter((name) => ports[name] === port)
  if (code === 'EACCES')
    return `this user may not listen on port ${port}, as on all ports below 1024; choose another one with ${names[0] ?? 'SLUICE_PORT'}`
  if (names.includes('SLUICE_PORT') && names.includes('SLUICE_ADMIN_PORT'))
    return `SLUICE_PORT and SLUICE_ADMIN_PORT are both ${port}; change one of them`
  const setting = names[0] ?? 'SLUICE_PORT'
  const makeVariable = setting.replace('SLUICE_', '')
  return `port ${port} is taken; choose another one with ${setting} (with make run: ${makeVariable}=${Number(port) + 1000})`
}

/**
 * SIGINT stops at once, SIGTERM after a drain of at most `drainMs`. Then the process ends. Returns what begins the same
 * for another reason; it does nothing if the process is stopping already.
 */
export function stopOnSignals(
  stop: (graceMs: number) => Promise<void>,
  drainMs: number,
  out: Output,
): (graceMs: number) => void {
  let stopping = false
  const end = (code: number) => {
    out.close()
    process.exit(code)
  }
  const begin = (graceMs: number) => {
    if (stopping) return
    stopping = true
    stop(graceMs).then(
      () => end(0),
      () => end(1),
    )
  }
  let signals = 0
  const signalled = (graceMs: number) => {
    signals += 1
    // The second signal ends the process at once.
    if (signals > 1) end(130)
    begin(graceMs)
  }
  process.on('SIGINT', () => signalled(0))
  process.on('SIGTERM', () => signalled(drainMs))
  return begin
}
