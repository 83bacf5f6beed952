/**
 * Random trees of turns, at two proxies and over all types of channels, while parts of them are lost. An answer shows
 * its whole path, or the request is 400: never a part of it, and nothing of another owner.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chainPrefix, exchangeDigest, responseKey } from '../../../store/keys.ts'
import { answerBody } from '../../e2e/dialects/scripted-upstream.ts'
import { remoteRuns } from '../../harness/property-runs.ts'
import { json } from '../../harness/upstream.ts'
import { ACCOUNT, METERED, UNMETERED } from '../proxy/world.ts'
import { type ChannelName, KEEPING, NAMES, type Place, startPlace } from './place.ts'
import { ask, NOT_FOUND, type Refused, say, type Turn as Turned, type TurnResult } from './say.ts'

const numRuns = remoteRuns(100)

const OWNERS = [
  { key: UNMETERED, id: 'kkkkkkkkkkkkkkkkkkk1' },
  { key: METERED, id: ACCOUNT },
] as const

interface Node {
  id: string
  owner: 0 | 1
  root: string
  parent: Node | undefined
  /** The path that the next answer shows before its own input. */
  path: string[]
  channel: ChannelName
  /** The parts that still exist: the gateway's binding, the text, and the upstream's copy. */
  bound: boolean
  stored: boolean
  kept: boolean
}

interface Turn {
  type: 'turn'
  /** Indexes into the existing nodes; the first turns start conversations. */
  parent: number
  as: 0 | 1 | 'owner'
  model: ChannelName | 'any'
  proxy: 0 | 1
  stream: boolean
}
type Loss = { type: 'unbind' | 'unsay' | 'forget'; node: number }
type Step =
  | Turn
  | Loss
  | { type: 'flush' }
  | { type: 'move'; any: ChannelName[] }
  | { type: 'turns'; turns: Turn[] }

const bit = fc.constantFrom(0 as const, 1 as const)
const turn: fc.Arbitrary<Turn> = fc.record({
  type: fc.constant('turn' as const),
  parent: fc.nat(30),
  as: fc.oneof({ weight: 8, arbitrary: fc.constant('owner' as const) }, { weight: 1, arbitrary: bit }),
  model: fc.oneof(fc.constantFrom(...NAMES), fc.constant('any' as const), fc.constant('any' as const)),
  proxy: bit,
  stream: fc.boolean(),
})
const steps = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: turn },
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant('turns' as const),
        turns: fc.array(turn, { minLength: 2, maxLength: 4 }),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ type: fc.constantFrom('unbind', 'unsay', 'forget'), node: fc.nat(30) }),
    },
    { weight: 1, arbitrary: fc.constant({ type: 'flush' as const }) },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constant('move' as const),
        any: fc.subarray(NAMES, { minLength: 1 }),
      }),
    },
  ),
  { minLength: 5, maxLength: 25, size: 'max' },
)

let place: Place
beforeAll(async () => {
  place = await startPlace()
})
afterAll(() => place?.stop())

/** How often each kind of answer was right, so that none is left untried. */
const tally = { beginnings: 0, byReference: 0, inFull: 0, notFound: 0, others: 0 }
let inputs = 0
let requests = 0
let timeouts = 0

class Tree {
  readonly nodes: Node[] = []
  any: readonly ChannelName[] = NAMES

  async take(step: Step): Promise<void> {
    if (step.type === 'turn') return this.#turns([step])
    if (step.type === 'turns') return this.#turns(step.turns)
    if (step.type === 'flush') return this.#flush()
    if (step.type === 'move') {
      this.any = step.any
      return place.publish(this.any)
    }
    const node = this.nodes[step.node % this.nodes.length]
    if (node === undefined) return
    const owner = OWNERS[node.owner].id
    if (step.type === 'unbind') {
      await place.world.redis.command('DEL', responseKey(owner, node.id))
      node.bound = false
    } else if (step.type === 'unsay') {
      const digest = exchangeDigest(node.root, node.id)
      const removed = await place.world.redis.command('DEL', `${chainPrefix(owner, node.root)}${digest}`)
      expect(removed).toBe(node.stored ? 1 : 0)
      node.stored = false
    } else {
      for (const name of KEEPING) place.speakers[name].kept.delete(node.id)
      node.kept = false
    }
  }

  async #flush(): Promise<void> {
    await place.world.redis.command('FLUSHALL')
    for (const node of this.nodes) node.bound = node.stored = false
    await place.world.lead()
    await place.world.store.ledger.open({ account: ACCOUNT, epoch: 1, create: true })
    await place.world.store.ledger.topup({
      account: ACCOUNT,
      epoch: 1,
      id: `default/again${inputs++}`,
      amount: 1_000_000_000,
    })
    await place.publish(this.any)
  }

  /** All concurrent. */
  async #turns(turns: Turn[]): Promise<void> {
    const roots = 2
    const there = [...this.nodes]
    const made = await Promise.all(
      turns.map((one) => this.#turn(one, there[(one.parent % (there.length + roots)) - roots])),
    )
    this.nodes.push(...made.filter((node) => node !== undefined))
  }

  async #turn({ as, model, proxy, stream }: Turn, parent: Node | undefined): Promise<Node | undefined> {
    const owner = as === 'owner' ? (parent?.owner ?? 0) : as
    const { base } = proxy === 0 ? place.one : place.two
    const input = `turn ${inputs++}`
    const turn = { model, input, stream, ...(parent && { previous: parent.id }) }
    const answer = await answerTo(base, OWNERS[owner].key, turn)
    if (parent !== undefined && !(parent.owner === owner && isContinuable(parent, this.#targets(model)))) {
      if (parent.owner === owner) tally.notFound++
      else tally.others++
      expect(answer).toEqual(NOT_FOUND)
      return undefined
    }
    if (!('id' in answer)) expect([answer, ...logs()]).toBe('an answer')
    else {
      expect(answer.read).toEqual([...(parent?.path ?? []), input])
      const channel = answer.me.slice(0, answer.me.indexOf('-')) as ChannelName
      const targets = this.#targets(model)
      expect(targets).toContain(channel)
      // It continued at the same channel.
      if (parent !== undefined && targets.includes(parent.channel)) expect(channel).toBe(parent.channel)
      if (parent === undefined) tally.beginnings++
      else if (parent.kept && parent.channel === channel) tally.byReference++
      else tally.inFull++
      return {
        id: answer.id,
        owner,
        root: parent?.root ?? answer.id,
        parent,
        path: [...answer.read, answer.me],
        channel,
        bound: true,
        stored: true,
        kept: KEEPING.includes(channel),
      }
    }
    return undefined
  }

  #targets(model: ChannelName | 'any'): readonly ChannelName[] {
    return model === 'any' ? this.any : [model]
  }
}

/** On a slow machine the store may time out; the count shows that this is the only other refusal. */
async function answerTo(base: string, key: string, turn: Turned): Promise<TurnResult | Refused> {
  const answer = await ask(base, key, turn)
  requests += 1
  if ('id' in answer || answer.code !== 'store_unavailable') return answer
  timeouts += 1
  return answerTo(base, key, turn)
}

/** The newest errors and warnings of both proxies. */
const logs = () =>
  [place.one, place.two].flatMap(({ log }) => log.filter((line) => /"level":[45]0/.test(line)).slice(-3))

function isContinuable(parent: Node, targets: readonly ChannelName[]): boolean {
  if (!parent.bound) return false
  if (parent.kept && targets.includes(parent.channel)) return true
  for (let node: Node | undefined = parent; node !== undefined; node = node.parent)
    if (!node.stored) return false
  return true
}

test('an answer shows exactly its path, or the request is 400', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      const tree = new Tree()
      await place.publish(tree.any)
      for (const step of taken) await tree.take(step as Step)
    }),
    { numRuns },
  )
  // No upstream may get the id of a response that it cannot know.
  for (const name of KEEPING)
    expect(place.speakers[name].unknown.filter((id) => !id.startsWith(`resp_${name}`))).toEqual([])
  expect(timeouts).toBeLessThan(requests / 50)
  for (const [kind, count] of Object.entries(tally))
    expect([kind, count]).toEqual([kind, expect.toSatisfy((n) => n > 5)])
}, 300_000)

test('an upstream that gives all answers one id never gets a part presented as the whole', async () => {
  const { first } = place.speakers
  const texts: unknown[] = []
  first.answer((call, res) => {
    texts.push((JSON.parse(call.body.toString()) as { input: unknown }).input)
    const text = JSON.stringify({ me: `first-same${texts.length}`, read: [] })
    json(
      res,
      200,
      JSON.parse(
        JSON.stringify(answerBody('responses', { text })).replaceAll('resp_up', 'resp_same'),
      ) as object,
    )
  })
  try {
    const { base } = place.one
    const one = await say(base, UNMETERED, { model: 'first', input: 'one' })
    const two = await say(base, UNMETERED, { model: 'first', input: 'two', previous: one.id })
    const whole = await say(base, UNMETERED, { model: 'chat', input: 'three', previous: two.id })
    expect(whole.read).toEqual(['one', one.me, 'two', two.me, 'three'])
    const owner = OWNERS[0].id
    const digest = exchangeDigest('resp_same', 'resp_same')
    expect(await place.world.redis.command('DEL', `${chainPrefix(owner, 'resp_same')}${digest}`)).toBe(1)
    const three = await say(base, UNMETERED, { model: 'first', input: 'three', previous: two.id })
    expect(await ask(base, UNMETERED, { model: 'chat', input: 'four', previous: three.id })).toEqual(
      NOT_FOUND,
    )
    expect(texts).toEqual(['one', 'two', 'three'])
  } finally {
    first.resume()
  }
})
