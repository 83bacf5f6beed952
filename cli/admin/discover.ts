/** Finds the admin ports that a command reads: the named ones, one on this machine, or the pods of a cluster. */
import type { z } from 'zod'
import { environment } from '../../contract/env.ts'
import { type AdminOptions, CommandFailure, type Terminal, UsageError } from '../command.ts'
import { type AdminPort, httpPort, type Ports } from './port.ts'

const LOCAL = 'http://127.0.0.1:8081'
const PROBE_MS = 1_000

const settings = environment.pick({ SLUICE_ADMIN_URLS: true, SLUICE_ADMIN_TOKEN: true })

/** Throws UsageError for bad settings, CommandFailure if it finds no program. */
export async function findPorts(options: AdminOptions, { env }: Terminal): Promise<Ports> {
  const { SLUICE_ADMIN_URLS: fromSettings, SLUICE_ADMIN_TOKEN: token } = settingsOf(env)
  const { sluiceNamespace: namespace } = options
  const named = options.admin ?? fromSettings
  const bad = named.find((url) => !URL.canParse(url) || !url.startsWith('http'))
  if (bad !== undefined)
    throw new UsageError(`SLUICE_ADMIN_URLS: '${bad}' is not an address such as http://127.0.0.1:8081`)
  if (named.length > 0) return open(named.map((url) => httpPort(url, token)))
  if (namespace === undefined && (await answers(LOCAL))) return open([httpPort(LOCAL, token)])
  const { podPorts } = await import('./pods.ts')
  return podPorts({ namespace, token }).catch((error: unknown) => {
    if (!(error instanceof CommandFailure)) throw error
    const local = namespace === undefined ? `nothing answers at ${LOCAL}, and ` : ''
    throw new CommandFailure(`${local}${error.message}; name admin ports with --admin or SLUICE_ADMIN_URLS`)
  })
}

function settingsOf(env: Terminal['env']): z.output<typeof settings> {
  // As in the programs, an empty value counts as unset.
  const parsed = settings.safeParse(
    Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')),
  )
  if (parsed.success) return parsed.data
  throw new UsageError(
    parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '),
  )
}

function open(ports: AdminPort[]): Ports {
  return { ports, close: async () => undefined }
}

function answers(url: string): Promise<boolean> {
  return fetch(`${url}/healthz`, { signal: AbortSignal.timeout(PROBE_MS) }).then(
    ({ ok }) => ok,
    () => false,
  )
}
