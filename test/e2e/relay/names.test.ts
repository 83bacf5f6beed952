/** DNS rebinding: an attacker's name server cannot make the relay call an internal address. */
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { RunningGateway } from '../../harness/gateway.ts'
import { type NameServer, startNameServer } from '../../harness/name-server.ts'
import { type Canary, startCanary } from './canary.ts'
import { envelope, relay, startRelay } from './setup.ts'

/** Stands for a public address: the only part of this machine that the relay may call. */
const OUTSIDE = '127.0.2.1'
const INSIDE = '127.0.0.1'
const REFUSED = { status: 400, code: 'address_refused' }

let gateway: RunningGateway
let names: NameServer
beforeAll(async () => {
  names = await startNameServer()
  gateway = await startRelay({ SLUICE_RELAY_RESOLVERS: names.address, SLUICE_RELAY_ALLOW: '127.0.2.0/24' })
})
afterAll(async () => {
  await gateway.stop()
  await names.close()
})

/** On all addresses, so that a call to an internal address would reach it. */
let canary: Canary
beforeEach(async () => {
  canary = await startCanary('0.0.0.0')
})

const ask = (name: string) => relay(gateway, envelope(`http://${name}:${canary.port}/`))
/** Queries for a name so far. */
const queriesFor = (name: string) => names.queries.filter((each) => each.endsWith(` ${name}`)).sort()

describe('rebinding', () => {
  test('connects to the first answer’s address, and checks the next call again', async () => {
    names.set('rebind.example.com', (_type, time) => [{ value: time === 0 ? OUTSIDE : INSIDE, ttl: 0 }])
    expect((await ask('rebind.example.com')).status).toBe(200)
    expect(canary.reached).toEqual([OUTSIDE])
    expect(queriesFor('rebind.example.com')).toEqual(['A rebind.example.com', 'AAAA rebind.example.com'])
    expect(await ask('rebind.example.com')).toMatchObject(REFUSED)
    expect(canary.reached).toEqual([OUTSIDE])
  })

  test('alternating answers, with many concurrent calls', async () => {
    names.set('flip.example.com', (_type, time) => [{ value: time % 2 === 0 ? OUTSIDE : INSIDE, ttl: 0 }])
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask('flip.example.com')))
    const statuses = answers.map(({ status }) => status)
    expect([...new Set(statuses)].sort()).toEqual([200, 400])
    expect(canary.reached).toEqual(statuses.filter((status) => status === 200).map(() => OUTSIDE))
  })

  test('IPv4 first and IPv6 later', async () => {
    names.set('families.example.com', async (type) => {
      if (type === 'AAAA') await new Promise((resolve) => setTimeout(resolve, 200))
      return type === 'A' ? [OUTSIDE] : ['::1']
    })
    expect(await ask('families.example.com')).toMatchObject(REFUSED)
    expect(canary.reached).toEqual([])
  })
})

describe('answers that are refused', () => {
  test.each<[string, Parameters<NameServer['set']>[1]]>([
    ['an internal address', [INSIDE]],
    ['an external and an internal address', [OUTSIDE, INSIDE]],
    ['an internal and an external address', [INSIDE, OUTSIDE]],
    ['a private address', ['10.0.0.1']],
    ['a metadata address', ['169.254.169.254']],
    ['this network', ['0.0.0.0']],
    ['IPv6 loopback', ['::1']],
    ['IPv6 unspecified', ['::']],
    ['IPv4 and IPv6 loopback', [OUTSIDE, '::1']],
    ['a mapped address', ['::ffff:127.0.0.1']],
    ['a mapped address after an external one', [OUTSIDE, '::ffff:127.0.0.1']],
    ['an IPv4-compatible address', ['::127.0.0.1']],
    ['NAT64', ['64:ff9b::127.0.0.1']],
    ['6to4', ['2002:7f00:1::1']],
    ['IPv6 private', ['fd00:ec2::254']],
    [
      'a CNAME to an internal address',
      [{ value: 'next.example.com' }, { value: INSIDE, owner: 'next.example.com' }],
    ],
    [
      'a chain of CNAMEs to a service of the cluster',
      [
        { value: 'a.example.com' },
        { value: 'redis.default.svc.cluster.local', owner: 'a.example.com' },
        { value: '10.96.0.1', owner: 'redis.default.svc.cluster.local' },
      ],
    ],
    ['a CNAME to both', [{ value: 'b.example.com' }, ...on('b.example.com', OUTSIDE, INSIDE)]],
    ['a CNAME to localhost', [{ value: 'localhost' }, ...on('localhost', INSIDE)]],
    ['a CNAME to nowhere', [{ value: 'nowhere.example.com' }]],
    [
      'a circle of CNAMEs',
      [{ value: 'c.example.com' }, { value: 'refused.example.com', owner: 'c.example.com' }],
    ],
    ['a hundred addresses, one internal', [...many(99), INSIDE]],
    ['hundreds of addresses, one internal', [...many(254), INSIDE]],
    ['no records', []],
    ['no such name', { rcode: 3 }],
    ['a failure', { rcode: 2 }],
    ['a refusal', { rcode: 5 }],
    ['noise', 'noise'],
    ['fewer records than it says', 'broken'],
  ])('%s', async (_name, answer) => {
    names.set('refused.example.com', answer)
    const before = queriesFor('refused.example.com').length
    expect(await ask('refused.example.com')).toMatchObject(REFUSED)
    expect(queriesFor('refused.example.com').length).toBeGreaterThan(before)
    expect(canary.reached).toEqual([])
  })

  test('no answer, after some seconds', async () => {
    names.set('silent.example.com', 'silence')
    expect(await ask('silent.example.com')).toMatchObject(REFUSED)
  })

  test('all with the same message', async () => {
    names.set('inside.example.com', [INSIDE])
    const answers = [
      await ask('inside.example.com'),
      await ask('unknown.example.com'),
      await ask('redis.svc'),
    ]
    expect(new Set(answers.map(({ bytes }) => bytes.toString())).size).toBe(1)
    expect(queriesFor('redis.svc')).toEqual([])
  })
})

describe('answers with external addresses', () => {
  test.each<[string, Parameters<NameServer['set']>[1], string]>([
    ['with a TTL of 0', [{ value: OUTSIDE, ttl: 0 }], OUTSIDE],
    ['the same address twice', [OUTSIDE, OUTSIDE], OUTSIDE],
    ['a mapped address', [`::ffff:${OUTSIDE}`], OUTSIDE],
    ['by a CNAME', [{ value: 'd.example.com' }, ...on('d.example.com', OUTSIDE)], OUTSIDE],
    ['after a delay', () => later(400, [OUTSIDE]), OUTSIDE],
    ['a hundred addresses', many(100), '127.0.2.'],
  ])('%s', async (_name, answer, address) => {
    names.set('good.example.com', answer)
    expect((await ask('good.example.com')).status).toBe(200)
    expect(canary.reached).toEqual([expect.stringContaining(address)])
  })

  test('tries the next address if the first does not connect', async () => {
    const only = await startCanary('127.0.2.9')
    names.set('next.example.com', ['127.0.2.8', '127.0.2.9'])
    const answer = await relay(gateway, envelope(`http://next.example.com:${only.port}/`))
    expect([answer.status, only.reached]).toEqual([200, ['127.0.2.9']])
  })

  test('ends a call whose client leaves during the lookup', async () => {
    names.set('left.example.com', 'silence')
    const leaving = new AbortController()
    onTestFinished(() => leaving.abort())
    const gone = relay(gateway, envelope('http://left.example.com/'), { signal: leaving.signal }).catch(
      () => 'gone',
    )
    await expect.poll(() => queriesFor('left.example.com').length).toBeGreaterThan(0)
    leaving.abort()
    expect(await gone).toBe('gone')
    const lines = () =>
      gateway.requests().filter(({ relay: call }) => JSON.stringify(call)?.includes('left.example'))
    await expect.poll(lines).toMatchObject([{ outcome: 'client_gone' }])
  })
})

function on(owner: string, ...values: string[]): { value: string; owner: string }[] {
  return values.map((value) => ({ value, owner }))
}

function many(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `127.0.2.${i + 1}`)
}

function later<T>(ms: number, value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(resolve, ms, value))
}
