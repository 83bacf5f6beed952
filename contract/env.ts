/**
 * The settings of every program, read from the environment once at start. docs/environment.md is generated from this
 * table. The programs log the values at start, without secrets.
 */
import { z } from 'zod'
import { conversationSettings } from './settings/conversations.ts'
import { limitSettings } from './settings/limits.ts'
import { outboundSettings } from './settings/outbound.ts'
import { processSettings } from './settings/process.ts'
import { relaySettings } from './settings/relay.ts'

export const environment = z.object({
  ...processSettings,
  ...outboundSettings,
  ...relaySettings,
  ...conversationSettings,
  ...limitSettings,
})
export type Environment = z.output<typeof environment>

/** Settings whose values are never logged. */
const SECRET_NAMES = new Set([
  'SLUICE_ADMIN_TOKEN',
  'SLUICE_REDIS_URL',
  'SLUICE_STATE_REDIS_URL',
  'SLUICE_HTTP_PROXY',
  'SLUICE_HTTPS_PROXY',
  'SLUICE_RELAY_PROXY',
])
/** Common variables, in upper or lower case, that are read where the SLUICE_ setting of that name is not set. */
const BORROWED = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'] as const

/**
 * For a Service called sluice or sluice-admin, Kubernetes injects SLUICE_SERVICE_HOST, but also
 * SLUICE_PORT=tcp://10.0.0.1:8080 and SLUICE_ADMIN_PORT, which are names of settings. Such values are ignored.
 */
const SERVICE_LINK = /^(tcp|udp|sctp):\/\//

/**
 * Parses the environment; an empty value counts as unset. `unknown` lists SLUICE_ names that are not settings; they only
 * deserve a warning because Kubernetes injects such names. `unusable` lists borrowed names (HTTP_PROXY) whose value the
 * setting does not accept, such as a socks5:// address. Throws EnvironmentError with one line for each bad setting.
 */
export function readEnvironment(env: Record<string, string | undefined>): {
  env: Environment
  unknown: string[]
  unusable: string[]
} {
  const given: Record<string, string> = {}
  const unknown: string[] = []
  const unusable: string[] = []
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith('SLUICE_') || value === undefined || value === '') continue
    if (Object.hasOwn(environment.shape, name) && !SERVICE_LINK.test(value)) given[name] = value
    else unknown.push(name)
  }
  for (const name of BORROWED) {
    const setting = `SLUICE_${name}` as const
    const value = env[name] || env[name.toLowerCase()]
    if (!value || given[setting] !== undefined) continue
    if (environment.shape[setting].safeParse(value).success) given[setting] = value
    else unusable.push(name)
  }
  const parsed = environment.safeParse(given)
  if (!parsed.success)
    throw new EnvironmentError(
      parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'),
    )
  return { env: parsed.data, unknown, unusable }
}

export class EnvironmentError extends Error {
  override name = 'EnvironmentError'
}

/** The settings for the log at start. A secret shows only that it is set. */
export function redactedEnvironment(env: Environment): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      SECRET_NAMES.has(name) && value !== undefined ? '(set)' : printable(value),
    ]),
  )
}

function printable(value: unknown): unknown {
  return value instanceof Map || value instanceof Set ? [...value] : value
}
