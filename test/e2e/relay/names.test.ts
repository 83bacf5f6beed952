/** What a name resolves to, now and a moment later: a name server of the attacker leads nobody inside. */
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { RunningGateway } from '../../harness/gateway.ts'
import { type NameServer, startNameServer } from '../../harness/name-server.ts'
import { type Canary, startCanary } from './canary.ts'
import { envelope, relay, startRelay } from './setup.ts'

/** In the place of a public address: the one part of this machine that may be called. */
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

/** On the port of all, so that whoever gets an address inside finds somebody there. */
let anywhere: Canary
beforeEach(async () => {
  anywhere = await startCanary('0.0.0.0')
})

const ask = (name: string) => relay(gateway, envelope(`http://${name}:${anywhere.port}/`))
/** Questions about a name so far. */
const questions = (name: string) => names.queries.filter((each) => each.endsWith(` ${name}`)).sort()

describe('rebinding', () => {
  test('the connection goes where the first answer led; the next call is judged anew', async () => {
    names.set('rebind.example.com', (_type, time) => [{ value: time === 0 ? OUTSIDE : INSIDE, ttl: 0 }])
    expect((await ask('rebind.example.com')).status).toBe(200)
    expect(anywhere.reached).toEqual([OUTSIDE])
    expect(questions('rebind.example.com')).toEqual(['A rebind.example.com', 'AAAA rebind.example.com'])
    expect(await ask('rebind.example.com')).toMatchObject(REFUSED)
    expect(anywhere.reached).toEqual([OUTSIDE])
  })

  test('back and forth, many at a time', async () => {
    names.set('flip.example.com', (_type, time) => [{ value: time % 2 === 0 ? OUTSIDE : INSIDE, ttl: 0 }])
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask('flip.example.com')))
    const statuses = answers.map(({ status }) => status)
    expect([...new Set(statuses)].sort()).toEqual([200, 400])
    expect(anywhere.reached).toEqual(statuses.filter((status) => status === 200).map(() => OUTSIDE))
  })

  test('with one family first and the other one later', async () => {
    names.set('families.example.com', async (type) => {
      if (type === 'AAAA') await new Promise((resolve) => setTimeout(resolve, 200))
      return type === 'A' ? [OUTSIDE] : ['::1']
    })
    expect(await ask('families.example.com')).toMatchObject(REFUSED)
    expect(anywhere.reached).toEqual([])
  })
})

describe('answers that are refused', () => {
  test.each<[string, Parameters<NameServer['set']>[1]]>([
    ['inside', [INSIDE]],
    ['both', [OUTSIDE, INSIDE]],
    ['both, the other way round', [INSIDE, OUTSIDE]],
    ['private', ['10.0.0.1']],
    ['metadata', ['169.254.169.254']],
    ['this network', ['0.0.0.0']],
    ['IPv6 loopback', ['::1']],
    ['IPv6 unspecified', ['::']],
    ['IPv4 and IPv6 loopback', [OUTSIDE, '::1']],
    ['mapped', ['::ffff:127.0.0.1']],
    ['mapped beside a good one', [OUTSIDE, '::ffff:127.0.0.1']],
    ['compatible', ['::127.0.0.1']],
    ['NAT64', ['64:ff9b::127.0.0.1']],
    ['6to4', ['2002:7f00:1::1']],
    ['IPv6 private', ['fd00:ec2::254']],
    [
      'a chain that leads inside',
      [{ value: 'next.example.com' }, { value: INSIDE, owner: 'next.example.com' }],
    ],
    [
      'a long chain that leads to a service of the cluster',
      [
        { value: 'a.example.com' },
        { value: 'redis.default.svc.cluster.local', owner: 'a.example.com' },
        { value: '10.96.0.1', owner: 'redis.default.svc.cluster.local' },
      ],
    ],
    ['a chain that leads to both', [{ value: 'b.example.com' }, ...on('b.example.com', OUTSIDE, INSIDE)]],
    ['a chain to localhost', [{ value: 'localhost' }, ...on('localhost', INSIDE)]],
    ['a chain to nowhere', [{ value: 'nowhere.example.com' }]],
    ['a circle', [{ value: 'c.example.com' }, { value: 'refused.example.com', owner: 'c.example.com' }]],
    ['a hundred, one of them inside', [...many(99), INSIDE]],
    ['hundreds, one of them inside', [...many(254), INSIDE]],
    ['nothing', []],
    ['no such name', { rcode: 3 }],
    ['a failure', { rcode: 2 }],
    ['a refusal', { rcode: 5 }],
    ['noise', 'noise'],
    ['fewer records than it says', 'broken'],
  ])('%s', async (_name, answer) => {
    names.set('refused.example.com', answer)
    const before = questions('refused.example.com').length
    expect(await ask('refused.example.com')).toMatchObject(REFUSED)
    expect(questions('refused.example.com').length).toBeGreaterThan(before)
    expect(anywhere.reached).toEqual([])
  })

  test('none at all, after some seconds', async () => {
    names.set('silent.example.com', 'silence')
    expect(await ask('silent.example.com')).toMatchObject(REFUSED)
  })

  test('one message for them all', async () => {
    names.set('inside.example.com', [INSIDE])
    const told = [await ask('inside.example.com'), await ask('nobody.example.com'), await ask('redis.svc')]
    expect(new Set(told.map(({ bytes }) => bytes.toString())).size).toBe(1)
    expect(questions('redis.svc')).toEqual([])
  })
})

describe('answers that lead out', () => {
  test.each<[string, Parameters<NameServer['set']>[1], string]>([
    ['of no duration', [{ value: OUTSIDE, ttl: 0 }], OUTSIDE],
    ['twice the same', [OUTSIDE, OUTSIDE], OUTSIDE],
    ['mapped', [`::ffff:${OUTSIDE}`], OUTSIDE],
    ['by a chain', [{ value: 'd.example.com' }, ...on('d.example.com', OUTSIDE)], OUTSIDE],
    ['after a while', () => later(400, [OUTSIDE]), OUTSIDE],
    ['a hundred', many(100), '127.0.2.'],
  ])('%s', async (_name, answer, address) => {
    names.set('good.example.com', answer)
    expect((await ask('good.example.com')).status).toBe(200)
    expect(anywhere.reached).toEqual([expect.stringContaining(address)])
  })

  test('the next one where the first does not answer', async () => {
    const only = await startCanary('127.0.2.9')
    names.set('next.example.com', ['127.0.2.8', '127.0.2.9'])
    const answer = await relay(gateway, envelope(`http://next.example.com:${only.port}/`))
    expect([answer.status, only.reached]).toEqual([200, ['127.0.2.9']])
  })

  test('a caller who leaves does not wait for the name server', async () => {
    names.set('left.example.com', 'silence')
    const leaving = new AbortController()
    onTestFinished(() => leaving.abort())
    const gone = relay(gateway, envelope('http://left.example.com/'), { signal: leaving.signal }).catch(
      () => 'gone',
    )
    await expect.poll(() => questions('left.example.com').length).toBeGreaterThan(0)
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
