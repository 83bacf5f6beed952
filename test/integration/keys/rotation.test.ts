/** The sealing key is rotated under traffic as docs/redis.md describes, including the likely mistakes. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { MANIFEST, TABLE } from '../../../store/keys.ts'
import { controlPlane } from '../../harness/control-plane.ts'
import { type Fleet, metric, startFleet } from '../../harness/fleet.ts'
import { ask as askChat, digestOf } from '../../harness/fleet-traffic.ts'
import { until } from '../../harness/gateway.ts'
import { ask, NOT_FOUND, say, type TurnResult } from '../conversations/say.ts'
import { type Speaker, startSpeaker } from '../conversations/speaker.ts'
import { MountedSecret } from './mounted-secret.ts'
import { RotationTraffic, TURNS } from './rotation-traffic.ts'

const KEY = 'sk-of-the-rotation'
const MODEL = 'm'
const K1 = `k1:${randomBytes(32).toString('base64')}\n`
const K2 = `k2:${randomBytes(32).toString('base64')}\n`
const GARBAGE = 'k2:half-a-ke'
const NOT_READ = 'sealing keys cannot be read again'

let fleet: Fleet
let speaker: Speaker
let secret: MountedSecret
beforeAll(async () => {
  speaker = await startSpeaker('chat')
  fleet = await startFleet({
    controlPlane: await controlPlane(),
    proxies: 2,
    env: { SLUICE_LEASE_DURATION: '3s' },
  })
  secret = new MountedSecret(fleet.sealingKeysFile)
  await rotate(K1, '"keys":["k1"]')
  const { kube } = fleet
  await kube.create('Channel', 'main', { type: 'chat_completion', baseURL: speaker.baseURL })
  await kube.create('ModelRoute', MODEL, { model: MODEL, channels: [{ name: 'main' }], free: true })
  await createKey('rotation', KEY)
})
afterAll(async () => {
  await fleet?.stop()
  await speaker.close()
})

/** Replaces the Secret and waits until every program has reported it. */
async function rotate(text: string, line: string): Promise<void> {
  const members = [...fleet.controllers, ...fleet.proxies]
  const count = () => members.map((member) => member.output().split(line).length)
  const before = count()
  secret.turn(text)
  const all = () => count().every((now, i) => now > (before[i] ?? 0))
  await until(all, `every program to log ${line}`)
}

/** A key that every proxy serves. */
async function createKey(name: string, key: string): Promise<void> {
  await fleet.kube.create('ApiKey', name, { hashes: [digestOf(key)] })
  const served = async () => {
    const answers = await Promise.all(fleet.bases.map((base) => askChat(base, key, MODEL)))
    return answers.every(({ status }) => status === 200)
  }
  await until(served, 'the key to be served')
}

/** Ids of the keys that seal the table and all key records. */
async function sealedWith(): Promise<Set<unknown>> {
  const { redis } = fleet
  const names = (await redis.command('KEYS', 'sluice:{cfg}:key:*')) as string[]
  const envelopes = await Promise.all([TABLE, ...names].map((name) => redis.command('GET', name)))
  const notes = (await redis.command('HVALS', MANIFEST)) as string[]
  return new Set([
    ...envelopes.map((envelope) => JSON.parse(String(envelope)).kid),
    ...notes.flatMap((note) => /^(k\d) /.exec(note)?.[1] ?? []),
  ])
}

/** Records that each proxy could not read so far; the key with which the fleet started was replaced at once. */
function unreadable(): Promise<(number | undefined)[]> {
  const series = ['table', 'key', 'account'].map((kind) => `sluice_records_unreadable_total{kind="${kind}"}`)
  return Promise.all(fleet.proxies.flatMap((proxy) => series.map((name) => metric(proxy, name))))
}

/** One more turn at each proxy. */
async function continueChain({ id, read, me }: TurnResult, input: string): Promise<void> {
  for (const base of fleet.bases) {
    const answer = await say(base, KEY, { model: MODEL, input, previous: id })
    expect(answer.read).toEqual([...read, me, input])
  }
}

it('fails no request, and chains can be continued while their key exists', async () => {
  const [one = ''] = fleet.bases
  const before = await unreadable()
  const old = await say(one, KEY, { model: MODEL, input: 'under the first key' })
  const traffic = new RotationTraffic(fleet.bases, KEY, MODEL)
  await rotate(K1 + K2, '"keys":["k1","k2"]')
  await continueChain(old, 'both keys')

  // A half-written Secret removes nothing.
  await rotate(GARBAGE, NOT_READ)
  await createKey('meanwhile', 'sk-made-meanwhile')
  await continueChain(old, 'the last good keys')
  expect(await sealedWith()).toEqual(new Set(['k1']))

  await rotate(K2 + K1, '"keys":["k2","k1"]')
  // A new leader compares everything at once, a leading one every minute.
  const leader = await fleet.leader()
  leader.kill('SIGTERM')
  await leader.exited
  await leader.restart()
  const all = async () => [...(await sealedWith())].join() === 'k2'
  await until(all, 'everything to be sealed again')
  await continueChain(old, 'sealed again')
  const young = await say(one, KEY, { model: MODEL, input: 'under the second key' })

  // The traffic restarts its chains from time to time: those of the old key must have ended.
  await traffic.renewed()
  await rotate(K2, '"keys":["k2"]')
  await createKey('after', 'sk-made-after')
  await continueChain(young, 'without the first key')
  for (const base of fleet.bases)
    expect(await ask(base, KEY, { model: MODEL, input: 'on', previous: old.id })).toEqual(NOT_FOUND)
  // A key removed too early is put back.
  await rotate(K2 + K1, '"keys":["k2","k1"]')
  await continueChain(old, 'it is back')

  await traffic.stop()
  expect([...new Set(traffic.wrong)]).toEqual([])
  for (const kind of ['single', 'chain', 'streamed chain', 'socket'])
    expect([kind, traffic.counts[kind]]).toEqual([kind, expect.toSatisfy((count) => count > TURNS)])
  expect(await unreadable()).toEqual(before)
}, 90_000)
