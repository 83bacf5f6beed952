/** What `sluice dev` prints when it is ready: its address, a key, and a request to try. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Snapshot } from '../controller/snapshot.ts'
import type { RunningProxy } from '../proxy/main.ts'
import { type FolderKey, isPublished, usableKeys } from './folder-keys.ts'

/** One folder up in a checkout, two in the installed package. */
const PROGRAM =
  ['../bin/sluice', '../../bin/sluice']
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(url)) ?? new URL('../bin/sluice', import.meta.url)

interface BannerOptions {
  proxy: Pick<RunningProxy, 'port' | 'adminPort'>
  snapshot: Snapshot
  dir: string
  /** SLUICE_HOST. */
  host?: string | undefined
  /** Number of documents in the folder that cannot be used. */
  problems: number
}

export function banner({ proxy, snapshot, dir, host, problems }: BannerOptions): string {
  const name = nameOf(host)
  const base = `http://${name}:${proxy.port}`
  const [key] = usableKeys(snapshot, Date.now())
  const model = modelOf(snapshot)
  return `
  Sluice is ready, with the resources in ${dir}

    Base URL   ${base}/v1   (Anthropic SDKs: ${base})
    API key    ${keyLine(key)}
    Admin      http://${name}:${proxy.adminPort}   /resources /metrics /readyz
${problems === 0 ? '' : `    Problems   ${problems}, listed above and at /problems of the admin port\n`}
${key === undefined || model === undefined ? missing(key, model) : request(base, key, model, dir)}
  Edits to the folder take effect at once. Ctrl-C stops everything.
`
}

/** A model whose route has a channel that exists; an exact name is preferred to a wildcard. */
function modelOf(snapshot: Snapshot): string | undefined {
  const channels = new Set(snapshot.channels.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`))
  const models = snapshot.modelRoutes
    .filter(({ metadata, spec }) =>
      spec.channels.some(({ name }) => channels.has(`${metadata.namespace}/${name}`)),
    )
    .map(({ spec }) => spec.model)
  return models.find((model) => !model.endsWith('*')) ?? models[0]?.replace(/\*$/, 'your-model')
}

/** Prints only the public keys of the examples. */
function keyLine(key: FolderKey | undefined): string {
  if (key === undefined) return 'none yet: no ApiKey with a value is in force'
  return isPublished(key) ? key.value : `the key of ApiKey ${key.name}, from your resources`
}

function missing(key: FolderKey | undefined, model: string | undefined): string {
  const wanted = [
    ...(model === undefined ? ['a ModelRoute with a Channel that exists'] : []),
    ...(key === undefined ? ['an ApiKey with a Secret that exists'] : []),
  ]
  return `  Before the gateway can serve a request, the folder needs ${wanted.join(' and ')}.\n`
}

function request(base: string, key: FolderKey, model: string, dir: string): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] })
  const shown = isPublished(key)
  return `  Try it:

${shown ? '' : `    export KEY="$(${keyCommand(key, dir)})"\n`}    curl ${base}/v1/chat/completions \\
      -H "authorization: Bearer ${shown ? key.value : '$KEY'}" \\
      -H 'content-type: application/json' \\
      -d ${quoted(body)}
`
}

/** A command that reads the key from the folder, so that no output of the gateway contains it. */
function keyCommand({ namespace, name }: FolderKey, dir: string): string {
  const program = fileURLToPath(PROGRAM)
  const of = namespace === 'default' ? '' : ` -n ${namespace}`
  return `${quoted(program)} key${of} ${name} ${quoted(dir)}`
}

/** Quotes a word for a shell. */
const quoted = (text: string) => (/^[\w/.:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

/** The host part of a URL. Loopback is also reachable when the gateway listens on all interfaces. */
function nameOf(host = 'localhost'): string {
  if (['0.0.0.0', '::', '127.0.0.1', '::1'].includes(host)) return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
