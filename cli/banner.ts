/** What a newcomer sees: where the gateway is, with which key, and a request that answers at once. */
import type { ApiKeySpec, Resource } from '../contract/api/index.ts'
import type { Snapshot } from '../controller/snapshot.ts'
import type { RunningProxy } from '../proxy/main.ts'

export interface BannerOptions {
  proxy: RunningProxy
  snapshot: Snapshot
  dir: string
  /** Only the key of the quickstart is printed: everybody knows it. */
  showKey: boolean
  /** Documents of the folder that cannot be used. */
  problems: number
}

export function banner({ proxy, snapshot, dir, showKey, problems }: BannerOptions): string {
  const base = `http://localhost:${proxy.port}`
  const model = snapshot.modelRoutes.find((route) => !route.spec.model.endsWith('*'))?.spec.model ?? 'MODEL'
  const key = snapshot.apiKeys.find((apiKey) => apiKey.spec.disabled !== true)
  const value = key === undefined ? undefined : keyText(snapshot, key)
  const shown = showKey && value !== undefined ? value : `$KEY`
  const where =
    key === undefined
      ? 'no ApiKey is in force yet'
      : `the key of ApiKey ${key.metadata.name}, from your resources`
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] })
  return `
  Sluice is ready, with the resources in ${dir}

    Base URL   ${base}/v1   (messages-style SDKs: ${base})
    API key    ${shown === '$KEY' ? where : shown}
    Admin      http://localhost:${proxy.adminPort}   /status /metrics /readyz
${problems === 0 ? '' : `    Problems   ${problems}, named above and at /problems of the admin port\n`}
  Try it:

${shown === '$KEY' ? `    export KEY=...   # ${where}\n` : ''}    curl ${base}/v1/chat/completions \\
      -H "authorization: Bearer ${shown}" \\
      -H 'content-type: application/json' \\
      -d '${body}'

  Edit the folder and the change is in force at once. Ctrl-C ends everything.
`
}

function keyText(snapshot: Snapshot, { metadata, spec }: Resource<ApiKeySpec>): string | undefined {
  if (spec.secretRef === undefined) return undefined
  return snapshot.secrets.get(`${metadata.namespace}/${spec.secretRef.name}`)?.get(spec.secretRef.key)
}
