/**
 * The resources of the benchmarks, written to a folder: a route for each answer of the fake upstream, more routes and many
 * keys beside them, so that the gateway is as full as in use.
 */
import { hash } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Api, modelOf, type Scenario } from './scenarios.ts'

export const KEY_PREFIX = 'sk-bench-'
export const KEYS = 10_000
export const ROUTES = 100
/** Each pays for every hundredth key. */
export const ACCOUNTS = 100

/** Nano-dollars for a token. The upstream reports 60 and 100 tokens for each answer, and no output for embeddings. */
const [INPUT, OUTPUT] = [100, 400]
export const priceOf = (upstream: Api) => 60 * INPUT + (upstream === 'embeddings' ? 0 : 100 * OUTPUT)

/** How keys of the rig's requests are named: see Keys in bench/rig/spec.go. */
export const keyOf = (number: number) => KEY_PREFIX + String(number).padStart(7, '0')

const CHANNEL_TYPES: Record<Api, string> = {
  chat: 'chat_completion',
  messages: 'messages',
  responses: 'responses',
  embeddings: 'embeddings',
}

const resource = (kind: string, name: string, spec: object) => ({
  apiVersion: 'sluice.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
})

/** A Channel and a ModelRoute with the model as their name. */
function routeTo(upstreamPort: number, upstream: Api, answer: string, model: string): object[] {
  const name = model
  const version = upstream === 'messages' ? '' : '/v1'
  return [
    resource('Channel', name, {
      type: CHANNEL_TYPES[upstream],
      baseURL: `http://127.0.0.1:${upstreamPort}/${answer}${version}`,
      auth: { scheme: 'None' },
    }),
    resource('ModelRoute', name, {
      model,
      channels: [{ name, model: 'bench-upstream' }],
      price: { input: '0.10', output: '0.40' },
    }),
  ]
}

interface Content {
  /** Whose answers have a route each. */
  scenarios: readonly Pick<Scenario, 'upstream' | 'answer'>[]
  keys?: number
  routes?: number
}

export function resources(
  upstreamPort: number,
  { scenarios, keys = KEYS, routes = ROUTES }: Content,
): object[] {
  const served = new Map(scenarios.map((one) => [modelOf(one.upstream, one.answer), one]))
  const others = Array.from({ length: Math.max(0, routes - served.size) }, (_, n) => `other-${n}`)
  return [
    ...Array.from({ length: ACCOUNTS }, (_, n) => [
      resource('Account', `account-${n}`, {}),
      resource('Credit', `account-${n}`, { accountRef: { name: `account-${n}` }, amount: '100000.00' }),
    ]).flat(),
    ...[...served].flatMap(([model, { upstream, answer }]) => routeTo(upstreamPort, upstream, answer, model)),
    ...others.flatMap((name) => routeTo(upstreamPort, 'chat', 'json', name)),
    ...Array.from({ length: keys }, (_, n) =>
      resource('ApiKey', `key-${n}`, {
        hashes: [hash('sha256', keyOf(n))],
        accountRef: { name: `account-${n % ACCOUNTS}` },
      }),
    ),
  ]
}

const DOCUMENTS_OF_A_FILE = 500

/** Writes the resources into `folder`, which it empties first. */
export function writeConfig(folder: string, upstreamPort: number, content: Content): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const all = resources(upstreamPort, content).map((one) => JSON.stringify(one))
  for (let from = 0; from < all.length; from += DOCUMENTS_OF_A_FILE)
    writeFileSync(
      join(folder, `${String(from).padStart(7, '0')}.yaml`),
      all.slice(from, from + DOCUMENTS_OF_A_FILE).join('\n---\n'),
    )
}
