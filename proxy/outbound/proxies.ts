/** Chooses the HTTP proxy for a URL, by curl's rules for HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
import { isIP } from 'node:net'
import { AddressSet, isAddressRange } from '../../contract/address.ts'

export interface HttpProxy {
  /** Without user and password. */
  origin: URL
  /** For the proxy alone: it gets them with every request, and no upstream does. */
  headers: Record<string, string>
}

const LOOPBACK = new AddressSet(['127.0.0.0/8', '::1'])
const DEFAULT_PORTS: Record<string, string> = { 'http:': '80', 'https:': '443' }

/** `http` and `https` are URLs of proxies, `direct` the entries of NO_PROXY; empty entries are skipped. */
export function proxyChooser(
  { http, https }: { http?: string | undefined; https?: string | undefined },
  direct: readonly string[],
): (url: URL) => HttpProxy | undefined {
  const proxies: Record<string, HttpProxy | undefined> = { 'http:': proxyAt(http), 'https:': proxyAt(https) }
  const exceptions = direct.flatMap((text) => text.split(/\s+/)).flatMap(exceptionIn)
  return (url) => {
    const host = plainHost(url.hostname)
    if (host === 'localhost' || LOOPBACK.has(host)) return undefined
    const port = url.port || DEFAULT_PORTS[url.protocol]
    if (exceptions.some((exception) => exception.matches(host) && (exception.port ?? port) === port))
      return undefined
    return proxies[url.protocol]
  }
}

/** The proxy that a URL names, its user and password included. */
export function proxyAt(text: string | undefined): HttpProxy | undefined {
  if (text === undefined) return undefined
  const { origin, username, password } = new URL(text)
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const credentials = { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` }
  return { origin: new URL(origin), headers: username === '' && password === '' ? {} : credentials }
}

/** An entry of NO_PROXY. */
interface Exception {
  matches(host: string): boolean
  /** Absent: all ports. */
  port?: string
}

function exceptionIn(entry: string): Exception[] {
  if (entry === '') return []
  if (entry === '*') return [{ matches: () => true }]
  const { host, ...port } = splitPort(entry)
  if (isAddressRange(host)) {
    const addresses = new AddressSet([host])
    return [{ matches: (address) => addresses.has(address), ...port }]
  }
  const name = host.toLowerCase().replace(/^\*?\./, '')
  if (name === '') return []
  return [
    { matches: (other) => other === name || (isIP(other) === 0 && other.endsWith(`.${name}`)), ...port },
  ]
}

/** Splits `host:port`, `[address]:port` or a host alone. An IPv6 address without brackets is a host alone. */
function splitPort(entry: string): { host: string; port?: string } {
  if (isAddressRange(entry)) return { host: entry }
  const [, host = entry, port] = /^(.*?)(?::([0-9]+))?$/.exec(entry) ?? []
  return { host: plainHost(host), ...(port !== undefined && { port }) }
}

/** The host without brackets and without a trailing dot. */
function plainHost(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}
