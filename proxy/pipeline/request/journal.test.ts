import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { AddressSet } from '../../../contract/address.ts'
import { createEmbeddedStore } from '../../../store/embedded/index.ts'
import { createAffinity } from '../../affinity/affinity.ts'
import { GatewayError } from '../../errors.ts'
import { EstimateFactors } from '../../ledger/estimate.ts'
import { Holds } from '../../ledger/holds.ts'
import { Dispatchers } from '../../outbound/dispatchers.ts'
import { TableFollower } from '../../table/follower.ts'
import { ProxyMetrics } from '../../telemetry/metrics.ts'
import { RequestLog } from '../../telemetry/request-log.ts'
import { testGauges } from '../../telemetry/testing.ts'
import { ChannelHealth } from '../../upstream/health.ts'
import { RetryBudget } from '../../upstream/retry-budget.ts'
import { Revocation } from '../admission/revocation.ts'
import { BodyMemory } from '../body/memory.ts'
import { BodyTurns } from '../body/turns.ts'
import type { Gateway } from '../gateway.ts'
import { finish, newRecord } from './journal.ts'
import { Shutdown } from './shutdown.ts'

function testGateway(lines: string[]): Gateway {
  const { config, ledger, state, sealing, affinity } = createEmbeddedStore()
  const now = () => performance.now()
  const holds = new Holds(ledger, {
    failed: () => undefined,
    accountMissing: () => undefined,
    dead: () => undefined,
  })
  onTestFinished(() => holds.stop(0))
  return {
    follower: new TableFollower(
      config,
      { proxy: 'proxy-1', keyMaxAgeMs: 1 },
      {
        swapped: () => undefined,
        failed: () => undefined,
        unreadable: () => undefined,
        behind: () => undefined,
        keysChanged: () => undefined,
      },
    ),
    holds,
    factors: new EstimateFactors(),
    dispatchers: new Dispatchers(),
    health: new ChannelHealth(now),
    retryBudget: new RetryBudget(now),
    metrics: new ProxyMetrics(testGauges()),
    log: new RequestLog(
      state,
      (line) => void lines.push(line),
      'full',
      () => undefined,
    ),
    trustedProxies: new AddressSet([]),
    sealing,
    state,
    bodyMemory: new BodyMemory(1),
    bodyTurns: new BodyTurns(2, () => performance.now()),
    conversations: { ttlMs: 1, bindingTtlMs: 1, exchangeBytes: 1, ownerBytes: 1 },
    affinity: createAffinity(affinity),
    stateFailed: () => undefined,
    limits: {
      maxBodyBytes: 1,
      maxUploadBytes: 1,
      maxInflatedBytes: 1,
      maxAnswerBytes: 1,
      maxEventBytes: 1,
      maxJsonDepth: 1,
      maxJsonKeys: 1,
      maxJsonValues: 1,
      form: { maxParts: 1, maxFiles: 1, maxFileBytes: 1, maxFieldBytes: 1 },
      endpointBytes: new Map(),
      streamKeepAliveMs: 1,
      clientStallMs: 1,
    },
    shutdown: new Shutdown(),
    revocation: new Revocation(async () => undefined),
  }
}

test('nothing that a client sends becomes a metric', async () => {
  const gateway = testGateway([])
  const req = new IncomingMessage(new Socket())
  req.headers = { traceparent: 'CLIENT-TEXT', 'user-agent': 'CLIENT-TEXT' }
  const told = new GatewayError('upstream_error', 'No upstream serves this model.', { param: 'CLIENT-TEXT' })
  const record = { ...newRecord('chat', 'req_1', req), model: 'CLIENT-TEXT', key: 'CLIENT-TEXT' }
  finish(gateway, record, told, 0, performance.now())
  const text = await gateway.metrics.registry.metrics()
  expect(text).not.toContain('CLIENT-TEXT')
  expect(text).toContain('gen_ai_request_model="unknown"')
  expect(text).toContain(
    'sluice_requests_total{endpoint="chat",status="502",code="upstream_error",domain="upstream"} 1',
  )
})

test.each([
  [`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, true],
  [`00-${'A'.repeat(32)}-${'b'.repeat(16)}-01`, false],
  [`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01\n`, false],
  ['anything else', false],
])('a traceparent is logged when it is one: %j', (traceparent, kept) => {
  const lines: string[] = []
  const gateway = testGateway(lines)
  const req = new IncomingMessage(new Socket())
  req.headers = { traceparent }
  finish(gateway, newRecord('chat', 'req_1', req), undefined, 0, performance.now())
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ requestId: 'req_1', status: 499, endpoint: 'chat' })
  expect(lines[0]?.includes('traceparent')).toBe(kept)
})

test.each<[string, number, string | undefined, object | undefined]>([
  ['relayed as it came', 429, 'finished', undefined],
  ['given up', 499, 'client_gone', { code: 'client_gone', domain: 'caller' }],
  ['good', 200, undefined, undefined],
])('a status without an error of ours, %s', (_name, status, outcome, error) => {
  const gateway = testGateway([])
  const finished = vi.spyOn(gateway.metrics, 'finished')
  const record = {
    ...newRecord('relay', 'req_1', new IncomingMessage(new Socket())),
    ...(outcome && { outcome }),
  }
  finish(gateway, record, undefined, status, performance.now())
  expect(finished.mock.calls[0]?.[0].error).toEqual(error)
})
