/** What a newcomer sees: where the gateway is, with which key, and a request that answers at once. */
import type { ApiKeySpec, Resource } from '../contract/api/index.ts'
import type { Snapshot } from '../controller/snapshot.ts'
import type { RunningProxy } from '../proxy/main.ts'

export interface BannerOptions {
  proxy: Pick<RunningProxy, 'port' | 'adminPort'>
  snapshot: Snapshot
  dir: string
  /** Only the key of the quickstart is printed: everybody knows it. */
  showKey: boolean
  /** Documents of the folder that cannot be used. */
  problems: number
}

export function banner({ proxy, snapshot, dir, showKey, problems }: BannerOptions): string {
  const base = `http://localhost:${proxy.port}`
  const key = keyOf(snapshot)
  const model = modelOf(snapshot)
  return `
  Sluice is ready, with the resources in ${dir}

    Base URL   ${base}/v1   (messages-style SDKs: ${base})
    API key    ${keyLine(key, showKey)}
    Admin      http://localhost:${proxy.adminPort}   /resources /metrics /readyz
${problems === 0 ? '' : `    Problems   ${problems}, named above and at /problems of the admin port\n`}
${key === undefined || model === undefined ? missing(key, model) : request(base, key, model, showKey)}
  Edit the folder and the change is in force at once. Ctrl-C ends everything.
`
}

interface Key {
  name: string
  /** Entry and name of its Secret. */
  entry: string
  secret: string
  value: string
}

/** The first key that a client can use and whose value the folder holds. */
function keyOf(snapshot: Snapshot): Key | undefined {
  return snapshot.apiKeys.flatMap((apiKey) => usableKey(snapshot, apiKey))[0]
}

function usableKey(snapshot: Snapshot, { metadata, spec }: Resource<ApiKeySpec>): Key[] {
  if (spec.disabled === true || spec.secretRef === undefined) return []
  const { name: secret, key: entry } = spec.secretRef
  const value = snapshot.secrets.get(`${metadata.namespace}/${secret}`)?.get(entry)
  return value === undefined || value === '' ? [] : [{ name: metadata.name, entry, secret, value }]
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

function keyLine(key: Key | undefined, showKey: boolean): string {
  if (key === undefined) return 'no ApiKey with a value is in force yet'
  return showKey ? key.value : `the key of ApiKey ${key.name}, from your resources`
}

function missing(key: Key | undefined, model: string | undefined): string {
  const wanted = [
    ...(model === undefined ? ['a ModelRoute with a Channel that exists'] : []),
    ...(key === undefined ? ['an ApiKey with a Secret that exists'] : []),
  ]
  return `  Before a request can be answered the folder needs ${wanted.join(' and ')}.\n`
}

function request(base: string, key: Key, model: string, showKey: boolean): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] })
  return `  Try it:

${showKey ? '' : `    export KEY='<entry ${key.entry} of Secret ${key.secret}>'\n`}    curl ${base}/v1/chat/completions \\
      -H "authorization: Bearer ${showKey ? key.value : '$KEY'}" \\
      -H 'content-type: application/json' \\
      -d '${body}'
`
}
