/** Settings for the connections of all channels: certificate authorities and HTTP proxies. */
import { readFileSync } from 'node:fs'
import { getCACertificates } from 'node:tls'
import { type Environment, EnvironmentError } from '../../contract/env.ts'
import { certificatesIn } from '../../contract/pem.ts'
import { type HttpProxy, proxyChooser } from './proxies.ts'

export interface Outbound {
  /** Authorities for channels without one of their own, in PEM; absent: the public ones. */
  authorities?: string[]
  /** The proxy for a URL; undefined: the connection is direct. */
  proxyFor(url: URL): HttpProxy | undefined
}

type Settings = Pick<
  Environment,
  'SLUICE_HTTP_PROXY' | 'SLUICE_HTTPS_PROXY' | 'SLUICE_NO_PROXY' | 'SLUICE_UPSTREAM_CA_FILE'
>

/** Reads the file of authorities once. Throws EnvironmentError for a file that cannot be used. */
export function readOutbound(env: Settings): Outbound {
  const proxies = { http: env.SLUICE_HTTP_PROXY, https: env.SLUICE_HTTPS_PROXY }
  const path = env.SLUICE_UPSTREAM_CA_FILE
  return {
    proxyFor: proxyChooser(proxies, env.SLUICE_NO_PROXY),
    ...(path !== undefined && { authorities: [...getCACertificates('default'), readAuthorities(path)] }),
  }
}

function readAuthorities(path: string): string {
  const text = contentOf(path)
  if (certificatesIn(text).length > 0) return text
  throw new EnvironmentError('SLUICE_UPSTREAM_CA_FILE: the file has no PEM certificate')
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    throw new EnvironmentError(`SLUICE_UPSTREAM_CA_FILE: the file cannot be read (${code})`)
  }
}
