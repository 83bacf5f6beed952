/**
 * Planted one-line faults, each with the test that must notice. A fault that no test notices shows a rule that nothing
 * guards. `find` stands exactly once in `file`.
 */
export interface Mutant {
  /** The file that gets the fault, from the checkout's root. */
  file: string
  find: string
  replace: string
  /** The test file, or folder of tests, that must fail. */
  test: string
}

/** Faults of one file that one test must notice: what stands there, and what takes its place. */
function faults(file: string, test: string, ...pairs: [find: string, replace: string][]): Mutant[] {
  return pairs.map(([find, replace]) => ({ file, find, replace, test }))
}

const CONFORMANCE = 'test/conformance/store/embedded.test.ts'
const COMPILED = 'controller/compile/cases.test.ts'

/** The harm is named above each fault. */
export const MUTANTS: Mutant[] = [
  ...faults(
    'contract/money.ts',
    'contract/money.test.ts',
    // A cost is rounded down: the operator pays the difference.
    ['(total + unit - 1n) / unit', 'total / unit'],
  ),
  ...faults(
    'contract/glob.ts',
    'contract/glob.test.ts',
    // "gpt-4-turbo" also allows "gpt-4".
    ['return g === glob.length', 'return true'],
  ),
  // 192.0.2.0/33 is taken for a range.
  ...faults('contract/address.ts', 'contract/address.test.ts', ['isIPv4(address) ? 32 : 128', '128']),
  ...faults(
    'contract/api/modelroute.ts',
    'contract/api/rules.test.ts',
    // Output tokens of a route that prices input alone cost nothing.
    ['(s.price.input === undefined) === (s.price.output === undefined)', 'true'],
  ),

  ...faults(
    'store/embedded/config.ts',
    CONFORMANCE,
    // A controller that was replaced goes on writing.
    ['publication.epoch !== epoch', 'publication.epoch > epoch'],
    // A publication is taken twice.
    ['publication.generation <= generation', 'publication.generation < generation'],
    // An empty folder takes all models away.
    ['publication.allowEmptyTable !== true', 'publication.allowEmptyTable === false'],
    // The table in force changes with the writer's own copy.
    [': frozenCopy(publication.table)', ': publication.table'],
  ),
  ...faults(
    'store/ledger/transition.ts',
    CONFORMANCE,
    // An account without money starts free requests.
    ['posted + overdraft <= 0', 'posted + overdraft < 0'],
    // Parallel requests spend the same money.
    ['posted - held + overdraft < amount', 'posted + overdraft < amount'],
    // A credit counts again at each start.
    ['draft.credit(id, { sub, amount })', ''],
    // A settle that is sent twice is charged twice.
    ["entomb(draft, id, { ...hold, state: actual === 0 ? 'V' : 'S', actual }, nowMs)", ''],
    // Holds of a proxy that died block the account until somebody reaps.
    ['expireDue(state, draft, nowMs, REAPED_AT_ONCE)', ''],
    // What an expiry charged is charged again by the late settle.
    ['amount: actual - hold.seen', 'amount: actual'],
    // A request whose hold was lost is never paid.
    ["charge(draft, { kind: 'lost', ref: id, sub, amount: actual, note })", ''],
  ),

  ...faults(
    'controller/source/folder/catalogue.ts',
    'controller/source/folder/catalogue.test.ts',
    // A mistake in a resource takes its last good version out of force.
    ['this.#held.has(id) || this.#unclearFiles.has(entry.file)', 'this.#unclearFiles.has(entry.file)'],
  ),
  ...faults(
    'controller/compile/conditions.ts',
    COMPILED,
    // A newer resource takes over the key or the model of an older one.
    ['a.metadata.createdAt - b.metadata.createdAt', 'b.metadata.createdAt - a.metadata.createdAt'],
  ),
  // A budget is accepted and bounds nothing.
  ...faults('controller/compile/accounts.ts', COMPILED, [
    "['parent', 'budget', 'limits']",
    "['parent', 'limits']",
  ]),
  ...faults(
    'controller/compile/keys.ts',
    COMPILED,
    // Limits are accepted and bound nothing.
    ["findings.refusals.push({ reason: 'NotSupported'", "findings.notes.push({ reason: 'NotSupported'"],
    // A disabled key works.
    ['disabled: spec.disabled ?? false', 'disabled: false'],
    // A key never expires.
    ['expiresAt !== undefined && { expiresAt }', 'false'],
    // The end of a short key, most of it, is shown.
    ["short ? '...' : ", ''],
  ),
  ...faults(
    'controller/status/conditions.ts',
    'controller/status/board.test.ts',
    // An edit is said to be in force while a proxy still serves the old one.
    ['live.every(({ generation })', 'live.some(({ generation })'],
  ),
  ...faults(
    'controller/publish/publisher.ts',
    'controller/publish/publisher.test.ts',
    // Every reading of the folder makes all proxies swap their tables.
    ['!tableChanges && isEmpty(keys.changes)', 'false && isEmpty(keys.changes)'],
  ),
  ...faults(
    'controller/publish/changes.ts',
    'controller/publish/publisher.test.ts',
    // A key whose resource is deleted works on.
    ['[...stored.keys()].filter((id) => !wanted.has(id))', '[]'],
  ),

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
    ['!(address !== undefined && addresses', '(address !== undefined && !addresses'],
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
  ),
  ...faults(
    'proxy/table/follower.ts',
    'proxy/table/follower.test.ts',
    // An older table comes back into force.
    ['if (epoch === this.#table.epoch && generation < this.#table.generation) return', ''],
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
    // One lost answer of the store is a request that nobody pays.
    ['if (wait === undefined || !(error instanceof StoreUnavailable)) throw error', 'throw error'],
    // A hold that is settled is renewed for ever.
    ['this.#closed()', ''],
  ),
  ...faults(
    'proxy/pipeline/serve.ts',
    'test/e2e/money.test.ts',
    // The money of a failed request stays held.
    ['await settle(gateway, priced, hold', 'if (delivery !== undefined) await settle(gateway, priced, hold'],
  ),

  ...faults(
    'proxy/pipeline/serve.ts',
    'test/e2e/refusals.test.ts',
    // Balances are told before models are allowed.
    [
      'allowModel(caller, request)',
      'if (caller.account) await gateway.holds.admit(caller.account); allowModel(caller, request)',
    ],
    // A missing route is told before the missing funds.
    ['if (caller.account !== undefined) await gateway.holds.admit(caller.account)', ''],
  ),
  ...faults(
    'proxy/pipeline/upstream-stream.ts',
    'proxy/pipeline/upstream-stream.test.ts',
    // A comment of a queueing upstream rules out another attempt.
    ['this.#held.length === 0 && !bytes.includes(DATA_FIELD)', 'false'],
    // A cut stream looks finished.
    [
      'else if (this.observer.finished) this.#finish({ last })',
      'else if (this.#begun) this.#finish({ last })',
    ],
    // A client that reads slowly fills the memory.
    ['if (!this.#taker.take(bytes)) this.#response.pause()', 'this.#taker.take(bytes)'],
  ),
  ...faults(
    'proxy/pipeline/client.ts',
    'proxy/pipeline/client.test.ts',
    // The upstream works on, and is paid, for a client that left.
    ['if (!res.writableFinished) controller.abort(new ClientGone())', ''],
  ),
  ...faults(
    'proxy/pipeline/event-stream.ts',
    'proxy/pipeline/event-stream.test.ts',
    // Load balancers cut a stream while the model thinks.
    ['else this.write(this.#options.keepAlive)', ''],
  ),
  ...faults(
    'proxy/pipeline/attempt.ts',
    'test/e2e/routing.test.ts',
    // A request that is wrong in itself is sent to every channel.
    ['if (!route.retry.on.includes(outcome.class)) break', ''],
  ),
  // A channel that was taken out by weight 0 gets traffic.
  ...faults('proxy/pipeline/route.ts', 'proxy/pipeline/route.test.ts', ['target.weight === 0 || ', '']),
  ...faults(
    'proxy/pipeline/body.ts',
    'test/e2e/bad-input.test.ts',
    // A body of exactly the limit is refused.
    ['if (size <= maxBytes) chunks.push(chunk)', 'if (size < maxBytes) chunks.push(chunk)'],
  ),

  ...faults(
    'proxy/dialects/json/body.ts',
    'proxy/dialects/json/body.test.ts',
    // Gateway and upstream read two models out of one body.
    ['if (seen.has(key))', 'if (false)'],
    ['if (escaped) throw', 'if (false) throw'],
  ),
  ...faults(
    'proxy/dialects/chat/request.ts',
    'proxy/dialects/chat/request.test.ts',
    // Streams report no usage and are billed by estimate.
    ['edits.askStreamUsage && head.stream && !asksUsagePlainly(request, options)', 'false'],
  ),
  ...faults(
    'proxy/dialects/chat/stream.ts',
    'proxy/dialects/chat/stream.test.ts',
    // A client gets an event without choices that it did not ask for.
    ['this.#askedUsage && !this.#request.head.wantsStreamUsage', 'false'],
    // A cut stream ends in [DONE].
    ['if (this.finished && !this.done)', 'if (!this.done)'],
    // An upstream's error event reaches the client as it is.
    ["event === 'error' || error", "event === 'error'"],
  ),
  // Agents that read the numbers shorten a prompt too little.
  ...faults('proxy/dialects/chat/context-length.ts', 'proxy/dialects/chat/error.test.ts', [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source text
    '${used + output} tokens',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source text
    '${used} tokens',
  ]),
  // What an upstream wrote, a host or a key perhaps, reaches a client.
  ...faults('proxy/dialects/chat/error.ts', 'proxy/dialects/chat/error.test.ts', [
    "'The upstream refused the request as invalid.'",
    'String(error.message)',
  ]),

  ...faults(
    'proxy/server/http-server.ts',
    'test/e2e/bad-http.test.ts',
    // Headers beyond the limit reach the routes.
    ['names.length > MAX_HEADERS', 'names.length > MAX_HEADERS * 2'],
    // Two proxies disagree on the host.
    ['if (hosts > 1)', 'if (hosts > 2)'],
  ),
  // SDKs repeat a request that every channel has failed.
  ...faults('proxy/server/error-response.ts', 'test/e2e/refusals.test.ts', [
    'if (error.entry.retry === false)',
    'if (false)',
  ]),
  // The id that the Anthropic SDKs show is missing.
  ...faults('proxy/server/app.ts', 'test/e2e/refusals.test.ts', ["res.setHeader('request-id', id)", '']),
  // A load balancer sends traffic to a proxy that stops.
  ...faults('proxy/main.ts', 'test/e2e/drain.test.ts', ["draining ? 'draining' : ", '']),

  // A channel's own Authorization is sent beside the credential, not instead of it.
  ...faults('proxy/upstream/request.ts', 'proxy/upstream/request.test.ts', [
    'headers[name.toLowerCase()] = value',
    'headers[name] = value',
  ]),
  ...faults(
    'proxy/upstream/dispatchers.ts',
    'proxy/upstream/dispatchers.test.ts',
    // An upstream behind another name is refused, or the wrong one is believed.
    [', servername: shape.serverName', ''],
  ),
  // A channel fails once more than it may.
  ...faults('proxy/upstream/ejection.ts', 'proxy/upstream/health.test.ts', [
    'this.#failures < policy.consecutiveFailures',
    'this.#failures <= policy.consecutiveFailures',
  ]),
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
  // Clients fill the metrics with models that they make up.
  ...faults('proxy/pipeline/record.ts', 'proxy/pipeline/record.test.ts', [
    "record.route ?? 'unknown'",
    "record.route ?? record.model ?? 'unknown'",
  ]),

  // Rooms of the proxy import each other.
  ...faults('tools/check-imports.ts', 'tools/check-imports.test.ts', [
    'from === to || ',
    'roomOf(file) === roomOf(target) || ',
  ]),
  ...faults(
    'tools/test-summary.ts',
    'tools/test-summary.test.ts',
    // No test at all is a success.
    ['failed > 0 || passed === 0 ? 1 : 0', 'failed > 0 ? 1 : 0'],
  ),
]
