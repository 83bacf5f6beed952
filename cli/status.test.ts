import { describe, expect, it } from 'vitest'
import type { Instance } from './admin/answers.ts'
import type { Survey } from './admin/survey.ts'
import { problemsOf, removalsOf, reportOf, risksOf } from './status.ts'

const controller = (instance: string, more: Partial<Instance> = {}): Instance => ({
  ...{ role: 'controller', instance, epoch: 3, generation: 50, ready: true, leading: false },
  ...more,
})
const proxy = (instance: string, epoch: number, generation: number): Instance => ({
  ...{ role: 'proxy', instance, epoch, generation, ready: true },
})
const survey = (instances: Instance[], unreached: Survey['unreached'] = []): Survey => ({
  reached: instances.map((instance) => ({
    port: { name: `at-${instance.instance}`, get: async () => ({}) },
    instances: [instance],
  })),
  unreached,
})

describe('the status report', () => {
  it('compares proxies with the last publication of the leader', () => {
    const leader = controller('b', { leading: true, epoch: 3, generation: 70 })
    const { newest, instances } = reportOf(
      survey([
        proxy('current', 3, 70),
        proxy('late', 3, 69),
        proxy('former', 2, 99),
        controller('a', { generation: 80 }),
        leader,
      ]),
    )
    expect(newest).toEqual({ epoch: 3, generation: 70 })
    expect(instances.map(({ instance, behind }) => [instance, behind])).toEqual([
      ['a', undefined],
      ['b', undefined],
      ['current', false],
      ['former', true],
      ['late', true],
    ])
  })

  it('without a leader compares with the newest generation in service', () => {
    const { newest, instances } = reportOf(survey([proxy('one', 3, 70), proxy('two', 4, 60)]))
    expect(newest).toEqual({ epoch: 4, generation: 60 })
    expect(instances.map(({ behind }) => behind)).toEqual([true, false])
  })

  it('lists a proxy that is known only by its heartbeat, once', () => {
    const heartbeats = [
      { proxy: 'asked', epoch: 3, generation: 50 },
      { proxy: 'heard', epoch: 3, generation: 40 },
    ]
    const both = [
      controller('a', { leading: true, proxies: heartbeats }),
      controller('b', { proxies: heartbeats }),
    ]
    const { instances } = reportOf(survey([...both, proxy('asked', 3, 50)]))
    expect(instances.filter(({ role }) => role === 'proxy')).toEqual([
      {
        ...{ role: 'proxy', instance: 'asked', epoch: 3, generation: 50, ready: true },
        behind: false,
        admin: 'at-asked',
        source: 'admin',
      },
      {
        ...{ role: 'proxy', instance: 'heard', epoch: 3, generation: 40 },
        behind: true,
        admin: 'at-a',
        source: 'heartbeat',
      },
    ])
  })

  it('shows whether a proxy reaches the store', () => {
    const { instances } = reportOf(survey([{ ...proxy('one', 3, 70), store: 'away' }, proxy('two', 3, 70)]))
    expect(instances.map(({ store }) => store)).toEqual(['away', undefined])
  })

  it('lists admin ports that do not answer', () => {
    const { newest, unreachable } = reportOf(
      survey([], [{ name: 'http://gone', reason: 'cannot be reached (ECONNREFUSED)' }]),
    )
    expect(newest).toBeNull()
    expect(unreachable).toEqual([{ admin: 'http://gone', reason: 'cannot be reached (ECONNREFUSED)' }])
  })
})

describe('the problems of a status', () => {
  const leader = controller('a', { leading: true })
  const problems = (...instances: Instance[]) => problemsOf(reportOf(survey(instances)))

  it('are none if all is well, or no controller was read', () => {
    expect(problems(leader, controller('b'), { ...proxy('p', 3, 50), store: 'reachable' })).toEqual([])
    expect(problems(proxy('p', 3, 50))).toEqual([])
  })

  it('include that no controller leads', () => {
    const standing = { leading: false, epoch: undefined, generation: undefined }
    expect(problems(controller('a', standing), controller('b', standing), proxy('p', 3, 50))).toEqual([
      expect.stringContaining('no controller leads'),
    ])
  })

  it('include a proxy whose store is away', () => {
    expect(problems(leader, { ...proxy('p', 3, 50), store: 'away' })).toEqual([
      expect.stringMatching(/^p does not reach the store/),
    ])
  })
})

it('reports a large removal, which is not a problem', () => {
  const removal = {
    at: '2026-01-01T00:00:00.000Z',
    message: '30 of 31 keys are gone',
    namespaces: ['a', 'b'],
  }
  const report = reportOf(survey([controller('a', { leading: true, removal }), proxy('one', 3, 50)]))
  expect(removalsOf(report)).toEqual(['2026-01-01T00:00:00.000Z: 30 of 31 keys are gone (namespaces: a, b)'])
  expect(problemsOf(report)).toEqual([])
})

describe('risks of Redis', () => {
  const risk = (kind: string) => ({
    kind,
    message: `because of ${kind}`,
    servers: ['a:1', 'b:2: allkeys-lru'],
  })
  const report = (...kinds: string[]) =>
    reportOf(survey([controller('a', { leading: true, risks: kinds.map(risk) }), proxy('one', 3, 50)]))

  it('are listed with their servers, and are no problems while accounts are opened', () => {
    const found = report('not_persistent', 'evicts_volatile')
    expect(risksOf(found)).toEqual([
      'because of not_persistent (a:1, b:2: allkeys-lru)',
      'because of evicts_volatile (a:1, b:2: allkeys-lru)',
    ])
    expect(problemsOf(found)).toEqual([])
  })

  it('are a problem if no account is opened', () => {
    expect(problemsOf(report('evicts_all', 'not_persistent'))).toEqual([
      expect.stringMatching(/^no account is opened/),
    ])
  })
})
