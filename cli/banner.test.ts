import { describe, expect, it } from 'vitest'
import { Catalogue } from '../controller/source/folder/catalogue.ts'
import { banner } from './banner.ts'

const HEAD = 'apiVersion: sluice.dev/v1alpha1'
const CHANNEL = `${HEAD}\nkind: Channel\nmetadata: { name: up }\nspec: { type: chat_completion, baseURL: "http://127.0.0.1:1/v1" }\n`
const SECRET =
  'apiVersion: v1\nkind: Secret\nmetadata: { name: stored }\nstringData: { key: sk-of-the-banner }\n'
const route = (name: string, model: string, channel = 'up') =>
  `${HEAD}\nkind: ModelRoute\nmetadata: { name: ${name} }\nspec: { model: "${model}", free: true, channels: [{ name: ${channel} }] }\n`
const key = (name: string, more = '') =>
  `${HEAD}\nkind: ApiKey\nmetadata: { name: ${name} }\nspec: { ${more}secretRef: { name: ${name} } }\n`

function shown(documents: string[], dir = '/dir'): string {
  const catalogue = new Catalogue({ namespace: 'default', env: {} })
  const { snapshot, problems } = catalogue.update([{ path: 'a.yaml', text: documents.join('---\n') }], 0)
  expect(problems).toEqual([])
  return banner({ proxy: { port: 1, adminPort: 2 }, snapshot, dir, problems: 0 })
}

describe('the banner', () => {
  it('names a model and a key that are in force', () => {
    const text = shown([
      route('a', 'lost', 'missing'),
      route('b', 'any/*'),
      route('c', 'exact'),
      CHANNEL,
      key('switched-off', 'disabled: true, '),
      key('valueless'),
      key('stored'),
      SECRET,
    ])
    expect(text).toContain('"model":"exact"')
    expect(text).toContain('the key of ApiKey stored')
    expect(text).toMatch(/export KEY="\$\(\S+\/bin\/sluice key stored \/dir\)"/)
    expect(text).not.toContain('sk-of-the-banner')
  })

  it('prints a public key', () => {
    const published = SECRET.replace('sk-of-the-banner', 'sk-quickstart-0123456789abcdef')
    const text = shown([route('c', 'exact'), CHANNEL, key('stored'), published])
    expect(text).toContain('Bearer sk-quickstart-0123456789abcdef')
    expect(text).not.toContain('export KEY')
  })

  it('fills in a wildcard', () => {
    expect(shown([route('b', 'any/*'), CHANNEL, key('stored'), SECRET])).toContain('"model":"any/your-model"')
  })

  it('names what is missing instead of a request', () => {
    const text = shown([route('a', 'lost', 'missing'), key('valueless')])
    expect(text).toContain('needs a ModelRoute with a Channel that exists and an ApiKey with a Secret')
    expect(text).not.toContain('curl')
  })
})
