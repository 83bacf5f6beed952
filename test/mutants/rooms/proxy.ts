/** Faults of the proxy, but for its pipeline and its dialects. */
import { faults, type Mutant } from '../fault.ts'

export const PROXY: Mutant[] = [
  // Of two keys one is charged, whoever chose it.
  ...faults('proxy/auth/credentials.ts', 'proxy/auth/credentials.test.ts', [
    'key !== undefined && key !== value',
    'false',
  ]),

  ...faults(
    'proxy/auth/authenticate.ts',
    'proxy/auth/authenticate.test.ts',
    // A key works in the instant in which it expires.
    ['key.expiresAt > nowMs', 'key.expiresAt >= nowMs'],
    // A client whose address is not known is let in.
    [
      '(address !== undefined && addressesOf(key).has(address))',
      '(address === undefined || addressesOf(key).has(address))',
    ],
    // Guesses learn which keys exist.
    [
      'if (key === undefined || !isInForce',
      "if (key?.disabled) throw new GatewayError('unauthorized', 'Disabled.'); if (key === undefined || !isInForce",
    ],
  ),

  ...faults(
    'proxy/auth/client-address.ts',
    'proxy/auth/client-address.test.ts',
    // A client writes its own address.
    [".split(',').reverse()", ".split(',')"],
  ),

  ...faults(
    'proxy/table/routing.ts',
    'proxy/table/routing.test.ts',
    // A wildcard takes requests from the route of the exact name.
    [
      'if (exact !== undefined) return',
      'if (exact !== undefined && !index?.wildcards.some((w) => model.startsWith(w.prefix))) return',
    ],
  ),

  ...faults(
    'proxy/table/record-cache.ts',
    'proxy/table/record-cache.test.ts',
    // A key that is revoked while it is read stays in force.
    ['if (this.#pending.get(id) !== pending) return record', ''],
    // A key that was taken back serves on when the store goes away at that moment.
    ['(known.changed && !unreadable)', 'false'],
    // Each request waits for a store that is known to be away.
    ["if (!known.changed && (await this.#source.knowledge.standing()) !== 'current')", 'if (false)'],
    // A copy of a backup is believed.
    ["!== 'behind') return record", '!== undefined) return record'],
    // Keys are served for ever while the store is away.
    ['known === undefined || !this.#isFresh(known) ||', 'known === undefined ||'],
  ),

  ...faults(
    'proxy/table/follower.ts',
    'proxy/table/follower.test.ts',
    // An older table comes back into force.
    ['if (epoch <= before.epoch && generation < before.generation)', 'if (false)'],
    // A store that was emptied refuses the keys that it has lost.
    ["if (heard === 'behind') throw new StoreUnavailable('the store holds less than is in force here')", ''],
    // A change of which no announcement came stays unheard of.
    ["else if (heard === 'ahead') this.#awaitChange(position, asked)", ''],
    // A table that was deleted by itself is taken for none at all.
    ["if (this.#caughtUp && (await this.#knowledge.standing()) !== 'behind')", 'if (false)'],
  ),
  ...faults(
    'proxy/table/knowledge.ts',
    'proxy/table/follower.test.ts',
    // A store that was emptied and filled again is refused until the next heartbeat.
    ["if (this.#standing === 'behind' && !isBehind(position, this.#taken)) this.#settle('current')", ''],
  ),

  ...faults(
    'proxy/ledger/estimate.ts',
    'proxy/ledger/estimate.test.ts',
    // A hold does not cover a prompt that is written to a cache.
    ['Math.max(price.input, price.cachedInput, price.cacheWrite, price.cacheWriteLong)', 'price.input'],
  ),

  ...faults(
    'proxy/ledger/holds.ts',
    'proxy/ledger/holds.test.ts',
    // A hold that is settled is renewed for ever.
    ['this.#closed()', ''],
  ),

  ...faults(
    'proxy/ledger/settles.ts',
    'proxy/ledger/settles.test.ts',
    // One lost answer of the store is a request that nobody pays.
    ["if (outcome === 'later' || outcome", 'if (outcome'],
    // What a server lost with its last moments stays lost.
    ['    this.#replay ??=', '    if (false) this.#replay ??='],
    // The costs of a process that ends are forgotten.
    ["for (const command of this.#waiting.values()) this.#events.dead(command, 'stopped')", ''],
  ),

  // SDKs repeat a request that no channel serves.
  ...faults('proxy/server/error-response.ts', 'test/e2e/refusals.test.ts', [
    'if (error.final)',
    'if (false)',
  ]),

  // The id that the Anthropic SDKs show is missing.
  ...faults('proxy/server/app.ts', 'test/e2e/refusals.test.ts', ["res.setHeader('request-id', id)", '']),

  // A load balancer sends traffic to a proxy that stops.
  ...faults('proxy/open/edge.ts', 'test/e2e/drain.test.ts', ["if (draining) return 'draining'", '']),

  // A channel's own Authorization is sent beside the credential, not instead of it.
  // A port that is free on one address of loopback alone ends the start.
  ...faults('proxy/server/listen.ts', 'proxy/server/listen.test.ts', ['port !== 0 || ', 'port === 0 || ']),

  // Refusals of a good key are in the log without its name.
  ...faults('proxy/auth/authenticate.ts', 'test/e2e/key-names.test.ts', ['  found(key)\n', '']),

  ...faults('proxy/upstream/request.ts', 'proxy/upstream/request.test.ts', [
    'headers[name.toLowerCase()] = value',
    'headers[name] = value',
  ]),

  ...faults(
    'proxy/outbound/connectors.ts',
    'proxy/outbound/dispatchers.test.ts',
    // An upstream behind another name is refused, or the wrong one is believed.
    ['...(servername !== undefined && { servername })', ''],
  ),

  // A channel fails once more than it may.
  ...faults('proxy/upstream/ejection.ts', 'proxy/upstream/health.test.ts', [
    'this.#failures < policy.consecutiveFailures',
    'this.#failures <= policy.consecutiveFailures',
  ]),
  ...faults(
    'proxy/upstream/health.ts',
    'proxy/upstream/health.test.ts',
    // A probe that proves nothing keeps a healthy channel out.
    ['for (const [ejection, probe] of probes) ejection.unproven(probe)', ''],
  ),

  // A model is gone while all its channels rest.
  ...faults('proxy/upstream/choose.ts', 'proxy/upstream/choose.test.ts', [
    'awake.length > 0 ? awake : free',
    'awake',
  ]),

  // A busy upstream is asked again at once.
  ...faults('proxy/upstream/backoff.ts', 'proxy/upstream/backoff.test.ts', [
    'Math.max(0, retryAfterSeconds * 1_000)',
    'retryAfterSeconds',
  ]),

  // A secret that an upstream quotes twice is in the log.
  ...faults('proxy/telemetry/request-log.ts', 'proxy/telemetry/request-log.test.ts', [
    "masked.replaceAll(secret, '***')",
    "masked.replace(secret, '***')",
  ]),

  // A key that was taken back is served from memory.
  ...faults('proxy/table/follower.ts', 'test/integration/fleet/changes.test.ts', [
    'this.#records.changed(change)',
    'void change',
  ]),

  // A publication is said to be in force before its keys were heard of.
  ...faults('proxy/table/follower.ts', 'proxy/table/follower.test.ts', [
    'this.#applied = newest(this.#applied, taken)',
    'this.#applied = newest(this.#applied, this.#table)',
  ]),

  // A cost that is being charged is written down as lost.
  ...faults('proxy/ledger/settles.ts', 'proxy/ledger/settles.test.ts', [
    '    // What is under way may still be posted.\n    await this.#round\n',
    '',
  ]),

  // A lost account is asked for and told of for ever, by each of its settles.
  ...faults('proxy/ledger/missing-accounts.ts', 'proxy/ledger/settles.test.ts', [
    'Math.min(waitMs * 2, MAX_RETRY_MS)',
    'FIRST_RETRY_MS',
  ]),

  ...faults(
    'proxy/ledger/settles.ts',
    'proxy/ledger/settles.test.ts',
    // What a server may have lost is repeated once, whether it is there or not.
    ['if (!answered) this.#toRepeat.set(key, posted)', ''],
    // After a long outage what was lost at its beginning is not repeated.
    ['posted.at > MAX_REPLAY_AGE_MS', 'posted.at > REPLAY_MS'],
  ),
]
