/** What a newcomer sees: where the gateway is, with which key, and a request that answers at once. */
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

export interface BannerOptions {
  proxy: Pick<RunningProxy, 'port' | 'adminPort'>
  snapshot: Snapshot
  dir: string
  /** The address that SLUICE_HOST names. */
  host?: string | undefined
  /** Documents of the folder that cannot be used. */
  problems: number
}

export function banner({ proxy, snapshot, dir, host, problems }: BannerOptions): string {
  const name = nameOf(host)
  const base = `http://${name}:${proxy.port}`
  // The first key that a client can use.
  const [key] = usableKeys(snapshot, Date.now())
  const model = modelOf(snapshot)
  return `
  Sluice is ready, with the resources in ${dir}

    Base URL   ${base}/v1   (messages-style SDKs: ${base})
    API key    ${keyLine(key)}
    Admin      http://${name}:${proxy.adminPort}   /resources /metrics /readyz
${problems === 0 ? '' : `    Problems   ${problems}, named above and at /problems of the admin port\n`}
${key === undefined || model === undefined ? missing(key, model) : request(base, key, model, dir)}
  Edit the folder and the change is in force at once. Ctrl-C ends everything.
`
}

/** A model that some route leads to a channel that exists, an exact name before a wildcard. */
function modelOf(snapshot: Snapshot): string | undefined {
  const channels = new Set(snapshot.channels.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`))
  const models = snapshot.modelRoutes
    .filter(({ metadata, spec }) =>
      spec.channels.some(({ name }) => channels.has(`${metadata.namespace}/${name}`)),
    )
    .map(({ spec }) => spec.model)
  return models.find((model) => !model.endsWith('*')) ?? models[0]?.replace(/\*$/, 'your-model')
}

/** Only keys that stand in the examples are printed: everybody knows them. */
function keyLine(key: FolderKey | undefined): string {
  if (key === undefined) return 'no ApiKey with a value is in force yet'
  return isPublished(key) ? key.value : `the key of ApiKey ${key.name}, from your resources`
}

function missing(key: FolderKey | undefined, model: string | undefined): string {
  const wanted = [
    ...(model === undefined ? ['a ModelRoute with a Channel that exists'] : []),
    ...(key === undefined ? ['an ApiKey with a Secret that exists'] : []),
  ]
  return `  Before a request can be answered the folder needs ${wanted.join(' and ')}.\n`
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

/** Reads the key where it stands, so that it is in no output of the gateway. */
function keyCommand({ namespace, name }: FolderKey, dir: string): string {
  const program = fileURLToPath(PROGRAM)
  const of = namespace === 'default' ? '' : ` -n ${namespace}`
  return `${quoted(program)} key${of} ${name} ${quoted(dir)}`
}

/** For a shell. */
const quoted = (text: string) => (/^[\w/.:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

/** All interfaces have that of loopback among them. */
function nameOf(host = 'localhost'): string {
  if (['0.0.0.0', '::', '127.0.0.1', '::1'].includes(host)) return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
