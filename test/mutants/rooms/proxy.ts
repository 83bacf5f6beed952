/** Faults of the proxy outside of its pipeline and its dialects. */
import { faults, type Mutant } from '../fault.ts'

export const PROXY: Mutant[] = [
  // Of two keys one is charged, regardless of the caller's choice.
  // Every request waits for a timer although its answer is there.
  ...faults('proxy/ledger/store-time.ts', 'test/e2e/async-count.test.ts', [
    'isLater(answer) ? this.#wait(answer) : answer',
    'this.#wait(Promise.resolve(answer))',
  ]),
  // A chunk postpones the time-out of the whole exchange.
  ...faults('proxy/outbound/clock.ts', 'proxy/outbound/clock.test.ts', [
    'Math.min(this.#silenceAt, this.#totalAt)',
    'this.#silenceAt',
  ]),
  ...faults(
    'proxy/telemetry/series.ts',
    'proxy/telemetry/series.test.ts',
    // Each scrape counts all requests again.
    ['one.added = 0\n', '\n'],
    // A value on a bound counts in the next bucket.
    ['value > (this.#bounds', 'value >= (this.#bounds'],
  ),
  ...faults('proxy/auth/credentials.ts', 'proxy/auth/credentials.test.ts', [
    'key !== undefined && key !== value',
    'false',
  ]),

  ...faults(
    'proxy/auth/authenticate.ts',
    'proxy/auth/authenticate.test.ts',
    // A key works in the instant in which it expires.
    ['key.expiresAt > nowMs', 'key.expiresAt >= nowMs'],
    // A client with an unknown address is admitted.
    [
      '(address !== undefined && addressesOf(key).has(address))',
      '(address === undefined || addressesOf(key).has(address))',
    ],
    // Guesses reveal which keys exist.
    [
      'if (key === undefined || !isInForce',
      "if (key?.disabled) throw new GatewayError('unauthorized', 'Disabled.'); if (key === undefined || !isInForce",
    ],
  ),

  ...faults(
    'proxy/auth/client-address.ts',
    'proxy/auth/client-address.test.ts',
    // A client sets its own address.
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
    // A key revoked while it is read stays in force.
    ['if (this.#pending.get(id) !== pending) return record', ''],
    // A revoked key keeps serving if the store fails at that moment.
    ['(known.changed && !unreadable)', 'false'],
    // Each request waits for a store that is known to be down.
    ["!known.changed && (await this.#source.knowledge.standing()) !== 'current')", 'false)'],
    // A copy of a backup is trusted.
    ["!== 'behind') return record", '!== undefined) return record'],
    // Keys are served forever while the store is down.
    ['known === undefined || !this.#isFresh(known) ||', 'known === undefined ||'],
  ),

  ...faults(
    'proxy/table/follower.ts',
    'proxy/table/follower.test.ts',
    // An older table takes effect again.
    ['if (epoch <= before.epoch && generation < before.generation)', 'if (false)'],
    // An emptied store refuses the keys that it has lost.
    [
      "if (difference === 'behind') throw new StoreUnavailable('the store holds less than is in force here')",
      '',
    ],
    // A change without an announcement goes unnoticed.
    ["else if (difference === 'ahead') this.#awaitChange(position, query)", ''],
    // A table deleted by mistake counts as intentionally absent.
    ["if (this.#caughtUp && (await this.#knowledge.standing()) !== 'behind')", 'if (false)'],
  ),
  ...faults(
    'proxy/table/knowledge.ts',
    'proxy/table/follower.test.ts',
    // A store that was emptied and refilled is refused until the next heartbeat.
    ["if (this.#standing === 'behind' && !isBehind(position, this.#taken)) this.#settle('current')", ''],
  ),

  ...faults(
    'proxy/ledger/estimate.ts',
    'proxy/ledger/estimate.test.ts',
    // A hold does not cover a prompt that is written to a cache.
    ['        cacheWrite,\n        cacheWriteLong,\n', ''],
    // A long prompt is held at the price of a short one.
    ['inputTokens > tokens)', 'false)'],
  ),

  ...faults(
    'proxy/ledger/hold.ts',
    'proxy/ledger/holds.test.ts',
    // A settled hold is renewed forever.
    ['this.#parts.closed(this)', ''],
    // A client that pays is cut off because the ledger had lost its hold.
    ["if (reply === 'NOFUNDS') return false", "if (reply !== 'OK') return false"],
  ),

  ...faults(
    'proxy/ledger/renewals.ts',
    'proxy/ledger/renewals.test.ts',
    // Thousands of holds are renewed in one burst.
    ['SLOTS / 2 + Math.floor((Math.random() * SLOTS) / 2)', 'SLOTS - 1'],
    // Each hold has a command of its own.
    ['if (batch !== undefined && batch.length < TOGETHER)', 'if (false)'],
    // A failed renewal is not tried again before the next round.
    ['for (const hold of holds) this.soon(hold)', ''],
    // A store that is away gets all renewals at once.
    [
      'if (first === undefined || !(await this.#renew(first))) return',
      'if (first === undefined) return\n    void this.#renew(first)',
    ],
  ),

  ...faults(
    'proxy/ledger/touched.ts',
    'proxy/ledger/touched.test.ts',
    // An account that could not be reported is forgotten.
    ['for (const account of accounts) this.#pending.add(account)', ''],
    // A hot account is reported every second.
    [
      'if (at === undefined || performance.now() - at >= AGAIN_MS) this.#pending.add(account)',
      'this.#pending.add(account)',
    ],
  ),

  ...faults(
    'proxy/ledger/usage-bounds.ts',
    'proxy/ledger/usage-bounds.test.ts',
    // An upstream empties an account with one number.
    ['OUTPUT_SLACK * Math.max(LEAST_LIMIT, outputLimit)', 'Infinity'],
    ['contextLength = MAX_CONTEXT_TOKENS', 'contextLength = Infinity'],
    // No one learns that a prompt was charged by its bound.
    [' || totalInput(bounded) < totalInput(usage)', ''],
  ),

  ...faults(
    'proxy/ledger/settles.ts',
    'proxy/ledger/settles.test.ts',
    // One lost answer of the store leaves a request unpaid.
    ["if (outcome === 'later' || outcome", 'if (outcome'],
    // Commands lost in a server's last moments stay lost.
    ['    this.#replay ??=', '    if (false) this.#replay ??='],
    // The settles of a minute fill the memory of a process that has nothing to repeat.
    [': this.#judge(command, reply)', ': this.#settled(command, reply)'],
    // The costs of a process that ends are forgotten.
    ["for (const command of this.#waiting.values()) this.#events.dead(command, 'stopped')", ''],
  ),

  // SDKs repeat a request that no channel serves.
  ...faults('proxy/server/error-response.ts', 'test/e2e/refusals.test.ts', [
    'if (error.final)',
    'if (false)',
  ]),

  // The id that the Anthropic SDKs show is missing.
  ...faults('proxy/pipeline/request/head.ts', 'test/e2e/refusals.test.ts', [
    ", 'request-id', requestId]",
    ']',
  ]),

  // A load balancer sends traffic to a stopping proxy.
  ...faults('proxy/open/edge.ts', 'test/e2e/drain.test.ts', ["if (draining) return 'draining'", '']),

  // A channel's own Authorization is sent beside the credential, not instead of it.
  // A port that is free on only one loopback address prevents the start.
  ...faults('proxy/server/listen.ts', 'proxy/server/listen.test.ts', ['port !== 0 || ', 'port === 0 || ']),

  // Refusals of a good key are logged without its name.
  ...faults('proxy/auth/authenticate.ts', 'test/e2e/key-names.test.ts', ['  found(key)\n', '']),

  ...faults('proxy/upstream/request.ts', 'proxy/upstream/request.test.ts', [
    'headers[name.toLowerCase()] = value',
    'headers[name] = value',
  ]),

  ...faults(
    'proxy/outbound/connectors.ts',
    'proxy/outbound/dispatchers.test.ts',
    // An upstream under another name is refused, or the wrong one is trusted.
    ['...(servername !== undefined && { servername })', ''],
  ),

  // A channel may fail once too often.
  ...faults('proxy/upstream/ejection.ts', 'proxy/upstream/health.test.ts', [
    'this.#failures < policy.consecutiveFailures',
    'this.#failures <= policy.consecutiveFailures',
  ]),
  ...faults(
    'proxy/upstream/health.ts',
    'proxy/upstream/health.test.ts',
    // An inconclusive probe keeps a healthy channel out.
    ['for (const [ejection, probe] of probes) ejection.unproven(probe)', ''],
    // New settings of one channel end the ejections of models on all.
    ['if (channels.has(channelOf(pair))) ', ''],
  ),

  ...faults(
    'proxy/upstream/choose.ts',
    'proxy/upstream/choose.test.ts',
    // A model disappears while all its channels are ejected.
    ['<= 0 || candidate.full', '<= 0 || candidate.full || candidate.ejectedUntil > 0'],
    // An ejected channel is preferred to one that was tried more often.
    ['Number(a.ejectedUntil > 0) - Number(b.ejectedUntil > 0) ||', ''],
    // Chance picks among channels of all priorities.
    ['a.target.priority - b.target.priority', '0'],
  ),

  // A busy upstream is called again at once.
  ...faults('proxy/upstream/backoff.ts', 'proxy/upstream/backoff.test.ts', [
    'Math.max(0, retryAfterSeconds * 1_000)',
    'retryAfterSeconds',
  ]),

  ...faults(
    'proxy/telemetry/request-log.ts',
    'proxy/telemetry/request-log.test.ts',
    // A secret that an upstream quotes twice is logged.
    ["masked.replaceAll(secret, '***')", "masked.replace(secret, '***')"],
    // A terminal deletes text where a log line has DEL.
    [' && !line.includes(DEL)', ''],
  ),

  // A revoked key is served from memory.
  ...faults('proxy/table/follower.ts', 'test/integration/fleet/changes.test.ts', [
    'this.#records.changed(change)',
    'void change',
  ]),

  // A publication is reported in force before its keys have arrived.
  ...faults('proxy/table/follower.ts', 'proxy/table/follower.test.ts', [
    'this.#applied = newest(this.#applied, taken)',
    'this.#applied = newest(this.#applied, this.#table)',
  ]),

  // A cost that is being charged is logged as lost.
  ...faults('proxy/ledger/settles.ts', 'proxy/ledger/settles.test.ts', [
    '    // Settles that were sent may still be posted.\n    await this.#round\n',
    '',
  ]),

  // Each settle of a lost account queries and reports it forever.
  ...faults('proxy/ledger/missing-accounts.ts', 'proxy/ledger/settles.test.ts', [
    'Math.min(waitMs * 2, MAX_RETRY_MS)',
    'FIRST_RETRY_MS',
  ]),

  ...faults(
    'proxy/ledger/settles.ts',
    'proxy/ledger/settles.test.ts',
    // Commands that a server may have lost are repeated once, even if it is not back.
    ["if (outcome !== 'over') this.#toRepeat", "if (outcome === 'missing') this.#toRepeat"],
    // Costs that a store lost together with their account stay lost.
    ["if (settled.reply === 'NOACCT') return 'missing'", ''],
    ["if (repeat.missing) this.#events.dead(repeat.command, 'STALE')", ''],
    // After a long outage the commands lost at its start are not repeated.
    ['repeat.at > MAX_REPLAY_AGE_MS', 'repeat.at > 60_000'],
  ),
  ...faults(
    'proxy/ledger/recent-settles.ts',
    'proxy/ledger/recent-settles.test.ts',
    // What a server took with it half a minute ago is lost.
    ['KEEP_MS = 60_000', 'KEEP_MS = 30_000'],
    // A process keeps every settle of its life, or every one of a flood.
    ['    this.#forgetOld(now)\n', ''],
    [' && !isOver', ''],
    ['      this.#grouped -= oldest.size\n', ''],
    // A settle is packed into the rest of another one, or cut.
    ['spare.byteLength >= bytes', 'spare.byteLength > 0'],
    ['bytes = Buffer.from(memory, 0, end)', 'bytes = Buffer.from(memory)'],
    // Memory that nothing uses stays with the process.
    ['    memory.resize(0)\n', ''],
    // Load after a pause is compressed at once, or never.
    ['quietMs < QUIET_MS', 'quietMs < 0'],
    ['    this.#timer ??= this.#compressIn(QUIET_MS)\n', ''],
  ),
  ...faults(
    'proxy/ledger/holds.ts',
    'proxy/ledger/holds.test.ts',
    // A refused request is charged when its hold expires.
    ['if (unclear > 0) void this.#void(command)', ''],
    // Refusals of an outage fill the queue of settles.
    ['|| error.unsent) unclear -= 1', ') unclear -= 1'],
  ),
  ...faults(
    'proxy/open/store-side.ts',
    'test/integration/proxy/outages.test.ts',
    // An emptied store does not get back what it had charged.
    ['table.epoch !== before.epoch) holds.restored()', 'table.epoch !== before.epoch) return'],
  ),
]
