/** A fleet under steady traffic: something breaks, something is edited, and in the end everything is right. */
import { gunzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { z } from 'zod'
import { objectId } from '../../contract/ids.ts'
import type { Store } from '../../store/contract.ts'
import { createRedisStore } from '../../store/redis/index.ts'
import { readKeyRing } from '../../store/sealing.ts'
import { type Fleet, type FleetOptions, metric, startFleet } from '../harness/fleet.ts'
import { ask, digestOf } from '../harness/fleet-traffic.ts'
import { until } from '../harness/gateway.ts'
import { IMPATIENT } from '../harness/redis.ts'
import {
  chatAnswer,
  chatEvents,
  type Script,
  type ScriptedUpstream,
  startUpstream,
} from '../harness/upstream.ts'
import { type Credentials, Traffic } from './traffic.ts'

/** How often each case is run; if unset once, and long ones not at all. */
export const LONG = process.env.CHAOS_ROUNDS !== undefined
export const ROUNDS = Array.from({ length: Number(process.env.CHAOS_ROUNDS ?? 1) }, (_, i) => i + 1)

/** The cost of a request on `paid` or `slow`, in nano-dollars. */
export const PRICE = 1_000
const PRICED = { price: { perRequest: '0.000001' } }
const CREDIT = 100
const SILENT = { info() {}, warn() {}, error() {} }
/** Words of the first event of a slow stream: enough for its cost to be noted while it runs. */
const FIRST_WORDS = 400

/** A change of each sort: a new model and a revoked key. */
export interface Edit {
  model: string
  victim: string
}

export interface World {
  fleet: Fleet
  /** As the tests see it. */
  store: Store
  credentials: Credentials
  /** The account of the metered caller. */
  account(): { name: string; id: string }
  /** A new account with money; the metered caller gets a key on it. Resolves when all proxies serve it. */
  openAccount(): Promise<void>
  /** A key that every proxy knows and serves. */
  createVictim(): Promise<string>
  /** Edits as soon as the API server accepts it: revokes the victim and adds a model. */
  edit(victim: string): Promise<Edit>
  /** Waits until every proxy has both halves of the edit in force. */
  expectInForce(edit: Edit, withinMs?: number): Promise<void>
  /** Sends requests from now on; ends with `stop`. */
  traffic(): Traffic
  /** Streams on `slow` stay open until this is called; later ones too, until it is called again. */
  finishStreams(): void
  /** The ledger charged the account exactly for `served` requests since `before`, and at most `broken` more. */
  expectCharged(before: number, served: number, broken?: number): Promise<void>
  /** What requests have cost the account so far, in nano-dollars, once nothing is held for them. */
  charged(): Promise<number>
  /** Ids of the accounts that the checkpoint counts. */
  checkpointed(): Promise<Set<string>>
  /** What the account was credited, in nano-dollars. */
  readonly credit: number
  /** Every proxy and controller is ready, every proxy serves every kind of caller. */
  expectHealthy(withinMs?: number): Promise<void>
  stop(): Promise<void>
}

/** Resolves when every proxy serves every kind of caller. */
export async function startWorld(options: FleetOptions): Promise<World> {
  // Shorter than the default, and longer than a busy machine takes to renew it: nothing here restarts a controller that exits.
  const env = { ...IMPATIENT, SLUICE_LEASE_DURATION: '5s', ...options.env }
  const fleet = await startFleet({ ...options, env })
  const gates = createGates()
  const upstream = await startUpstream(gates.script)
  const store = createRedisStore({
    url: fleet.redis.url,
    sealing: readKeyRing(fleet.sealingKeysFile, SILENT),
    log: SILENT,
    instance: 'test',
  })
  const world = new ChaosWorld(fleet, store, upstream, gates.open)
  try {
    await world.begin()
    return world
  } catch (error) {
    await world.stop()
    throw error
  }
}

const secrets = z.object({ items: z.array(z.object({ data: z.object({ accounts: z.string() }) })) })

class ChaosWorld implements World {
  readonly credit = CREDIT * 1e9
  readonly fleet: Fleet
  readonly store: Store
  readonly finishStreams: () => void
  readonly credentials: Credentials
  readonly #upstream: ScriptedUpstream
  readonly #traffics: Traffic[] = []
  #accounts = 0
  #edits = 0
  #victims = 0

  constructor(fleet: Fleet, store: Store, upstream: ScriptedUpstream, finishStreams: () => void) {
    this.fleet = fleet
    this.store = store
    this.finishStreams = finishStreams
    this.#upstream = upstream
    this.credentials = {
      unmetered: { key: 'sk-without-an-account', model: 'free' },
      metered: { key: 'sk-not-yet-known', model: 'paid' },
      unknown: { key: 'sk-unknown', model: 'free' },
      disabled: { key: 'sk-disabled', model: 'free' },
    }
  }

  async begin(): Promise<void> {
    const { kube } = this.fleet
    const { unmetered, disabled } = this.credentials
    await kube.create('Channel', 'main', { type: 'chat_completion', baseURL: this.#upstream.baseURL })
    await this.#route('free', { free: true })
    await this.#route('paid', PRICED)
    await this.#route('slow', PRICED)
    await kube.create('ApiKey', 'unmetered', { hashes: [digestOf(unmetered.key)] })
    await kube.create('ApiKey', 'disabled', { hashes: [digestOf(disabled.key)], disabled: true })
    await this.openAccount()
    await this.expectHealthy()
  }

  account() {
    const name = `account-${this.#accounts}`
    return { name, id: objectId(this.fleet.namespace, name) }
  }

  async openAccount(): Promise<void> {
    const { kube } = this.fleet
    const number = this.#accounts + 1
    const name = `account-${number}`
    const key = `sk-with-an-account-${number}`
    await kube.create('Account', name, {})
    await kube.create('Credit', `credit-${number}`, { accountRef: { name }, amount: String(CREDIT) })
    await kube.create('ApiKey', `metered-${number}`, { hashes: [digestOf(key)], accountRef: { name } })
    await this.#answered(key, 'free', 200)
    this.#accounts = number
    this.credentials.metered = { key, model: 'paid' }
  }

  async createVictim(): Promise<string> {
    this.#victims += 1
    const name = `victim-${this.#victims}`
    await this.fleet.kube.create('ApiKey', name, { hashes: [digestOf(keyOf(name))] })
    await this.#answered(keyOf(name), 'free', 200)
    return name
  }

  async edit(victim: string): Promise<Edit> {
    this.#edits += 1
    const model = `model-${this.#edits}`
    await taken(() => this.fleet.kube.patch('ApiKey', victim, { disabled: true }))
    await taken(() => this.#route(model, { free: true }))
    return { model, victim }
  }

  async expectInForce({ model, victim }: Edit, withinMs = 15_000): Promise<void> {
    await this.#answered(this.credentials.unmetered.key, model, 200, withinMs)
    await this.#answered(keyOf(victim), 'free', 401, withinMs)
    // From here on it must stay so.
    this.credentials.disabled = { key: keyOf(victim), model: 'free' }
  }

  traffic(): Traffic {
    const traffic = new Traffic(this.fleet.bases, this.credentials)
    this.#traffics.push(traffic)
    return traffic
  }

  async charged(): Promise<number> {
    const isSettled = async () => (await this.store.ledger.balance(this.account().id))?.held === 0
    await until(isSettled, 'all settles', 60_000)
    return this.#charged()
  }

  async #charged(): Promise<number> {
    const balance = await this.store.ledger.balance(this.account().id)
    if (balance === undefined) throw new Error('the account is not open')
    return balance.credited - balance.posted
  }

  async checkpointed(): Promise<Set<string>> {
    const { kube, namespace } = this.fleet
    const selector = 'labelSelector=sluice.dev%2Fcheckpoint%3Dledger'
    const found = await kube.request('GET', `/api/v1/namespaces/${namespace}/secrets?${selector}`)
    const texts = secrets
      .parse(found)
      .items.map(({ data }) => gunzipSync(Buffer.from(data.accounts, 'base64')))
    return new Set(texts.flatMap((text) => Object.keys(JSON.parse(text.toString()) as object)))
  }

  async expectCharged(before: number, served: number, broken = 0): Promise<void> {
    let charged = -1
    const isRight = async () => {
      charged = ((await this.#charged().catch(() => before - PRICE)) - before) / PRICE
      return charged >= served
    }
    await until(isRight, 'every served request to be charged', 30_000).catch(() => undefined)
    expect(served).toBeGreaterThan(0)
    expect(charged).toBeGreaterThanOrEqual(served)
    expect(charged).toBeLessThanOrEqual(served + broken)
  }

  async expectHealthy(withinMs = 30_000): Promise<void> {
    const { admins } = this.fleet
    const ready = async () => {
      const states = admins.map(async (admin) => (await fetch(`${admin}/readyz`)).ok)
      return (await Promise.all(states).catch(() => [false])).every((state) => state)
    }
    await until(ready, 'controllers and proxies to be ready', withinMs)
    const { unmetered, metered, unknown, disabled } = this.credentials
    // A hold charged here would be missing from the traffic's count.
    await this.#answered(metered.key, 'free', 200, withinMs)
    await this.#answered(unmetered.key, unmetered.model, 200, withinMs)
    await this.#answered(unknown.key, unknown.model, 401, withinMs)
    await this.#answered(disabled.key, disabled.model, 401, withinMs)
    const queues = async () => {
      const sizes = await Promise.all(this.fleet.proxies.map((proxy) => metric(proxy, 'sluice_settle_queue')))
      return sizes.every((size) => size === 0)
    }
    await until(queues, 'all settles to be posted', withinMs)
  }

  async stop(): Promise<void> {
    for (const { resume } of [...this.fleet.controllers, ...this.fleet.proxies, this.fleet.redis]) resume()
    this.finishStreams()
    await Promise.all(this.#traffics.map((traffic) => traffic.stop()))
    await this.store.close()
    await this.fleet.stop()
    await this.#upstream.close()
  }

  async #route(model: string, more: object): Promise<void> {
    await this.fleet.kube.apply('ModelRoute', model, { model, channels: [{ name: 'main' }], ...more })
  }

  /** Waits until every proxy answers so. */
  async #answered(key: string, model: string, status: number, withinMs = 15_000): Promise<void> {
    let last: string[] = []
    const asWanted = async () => {
      const answers = this.fleet.bases.map((base) => ask(base, key, model).catch(() => undefined))
      last = (await Promise.all(answers)).map((answer) => answer?.summary ?? 'broken')
      return last.every((each) => each.startsWith(`${status} `))
    }
    await until(asWanted, `${status} for ${model} on every proxy`, withinMs).catch((error: unknown) => {
      throw new Error(`the proxies answer ${last.join(', ')}`, { cause: error })
    })
  }
}

const keyOf = (victim: string) => `sk-of-${victim}`

/** Retries until the API server has accepted it. */
async function taken(write: () => Promise<void>): Promise<void> {
  const tried = () =>
    write().then(
      () => true,
      () => false,
    )
  await until(tried, 'the API server to accept a change')
}

/** An upstream's script: streams on `slow` pause after their first event until a test opens the gate. */
function createGates(): { script: Script; open: () => void } {
  let gate = Promise.withResolvers<void>()
  const answer = chatAnswer()
  return {
    async script(call, res) {
      if (!call.body.toString().includes('"slow"')) return answer(call, res)
      const { promise } = gate
      const usage = { prompt_tokens: 1, completion_tokens: FIRST_WORDS, total_tokens: FIRST_WORDS + 1 }
      const [first = '', second = '', ...rest] = chatEvents('slow', 'word '.repeat(FIRST_WORDS), usage)
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(first + second + rest.slice(0, FIRST_WORDS / 2).join(''))
      await promise
      res.end(`${rest.slice(FIRST_WORDS / 2).join('')}data: [DONE]\n\n`)
    },
    open() {
      gate.resolve()
      gate = Promise.withResolvers()
    },
  }
}
