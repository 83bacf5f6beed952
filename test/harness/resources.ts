/** Builds resources as YAML text; JSON is valid YAML. */

export const apiKey = (name: string, key: string, spec: object = {}) =>
  documents(
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: `${name}-key` }, stringData: { key } },
    resource('ApiKey', name, { secretRef: { name: `${name}-key` }, ...spec }),
  )

export const account = (name: string, dollars: string | undefined, spec: object = {}) =>
  documents(
    resource('Account', name, spec),
    ...(dollars === undefined
      ? []
      : [resource('Credit', `${name}-credit`, { accountRef: { name }, amount: dollars })]),
  )

export const channel = (name: string, baseURL: string, spec: object = {}) =>
  documents(resource('Channel', name, { type: 'chat_completion', baseURL, ...spec }))

export const route = (name: string, model: string, channels: (string | object)[], spec: object = {}) =>
  documents(
    resource('ModelRoute', name, {
      model,
      channels: channels.map((c) => (typeof c === 'string' ? { name: c } : c)),
      ...('price' in spec ? {} : { free: true }),
      ...spec,
    }),
  )

export function documents(...resources: object[]): string {
  return resources.map((r) => `---\n${JSON.stringify(r, null, 2)}\n`).join('')
}

function resource(kind: string, name: string, spec: object): object {
  return { apiVersion: 'sluice.dev/v1alpha1', kind, metadata: { name }, spec }
}
