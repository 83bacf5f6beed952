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
const REDIS_LEDGER = 'test/conformance/store/redis-ledger.test.ts'
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
    'controller/status/board.ts',
    'controller/status/board.test.ts',
    // An edit is said to be in force while a proxy still serves the old one.
    ['Math.min(...this.#live', 'Math.max(...this.#live'],
    // The one proof of what an account had is written over when the ledger does not answer.
    ['      ...recordedMoney(object.kind, found),\n', ''],
  ),
  ...faults(
    'controller/publish/publisher.ts',
    'controller/publish/publisher.test.ts',
    // Every reading of the folder makes all proxies swap their tables.
    ['changes.table === undefined && isEmpty(changes.keys)', 'false && isEmpty(changes.keys)'],
    // A store that was wiped ends the controller that would fill it again.
    ['(await store.config.position()).epoch >= epoch', 'epoch > 0'],
  ),
  ...faults(
    'controller/publish/guard.ts',
    'controller/publish/publisher.test.ts',
    // An API server that was restored empty revokes every key.
    ['removed >= MANY && removed * 2 > stored', 'removed < 0 && stored < 0'],
  ),
  ...faults(
    'controller/publish/credits.ts',
    'controller/publish/credits.test.ts',
    // A ledger that was wiped gets every account's credits again: what was spent is given away.
    ['else if (account.used) this.#lose(id, account)', ''],
    // Restarting a controller makes up spending.
    ['Math.max(before.credited + added, posted + before.spent)', 'before.credited + added'],
  ),
  ...faults(
    'controller/status/writer.ts',
    'controller/status/writer.test.ts',
    // A controller that starts writes every status once more.
    ['says(found.status, status) ||', ''],
  ),
  ...faults(
    'contract/key-format.ts',
    'contract/key-format.test.ts',
    // A key that was made up costs a look-up.
    ['return key.slice(end) === checksum(key.slice(0, end))', 'return end > 0'],
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
  // A good key is turned away while others guess.
  ...faults('proxy/table/key-directory.ts', 'proxy/table/follower.test.ts', [
    'if (!all.has(hash) && !this.#named.has(hash)) return undefined',
    'if (!all.has(hash)) return undefined',
  ]),
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
    ['if (caller.account !== undefined) await gateway.holds.admit(caller.account, time)', ''],
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
  ...faults('proxy/pipeline/route.ts', 'proxy/pipeline/route.test.ts', [
    "if (target.weight === 0) return 'its weight is 0'",
    '',
  ]),
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
  ...faults('proxy/main.ts', 'test/e2e/drain.test.ts', ["if (draining) return 'draining'", '']),

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

  ...faults(
    'store/lua/ledger/common.lua',
    REDIS_LEDGER,
    // Amounts of a million dollars lose their last digits.
    ["string.format('%.0f', n + 0)", 'tostring(n + 0)'],
    // Parallel requests spend the same money.
    ["posted - funds('h', of) + allowed < amount", 'posted + allowed < amount'],
    // A settle that comes again just when its hold is forgotten is charged twice.
    ['due(GC, now - 1, max)', 'due(GC, now, max)'],
  ),
  // A server without memory admits requests that it may not be able to account for.
  ...faults('store/lua/ledger/reserve.lua', REDIS_LEDGER, ['#!lua', '#!lua flags=allow-oom']),
  // A server without memory charges nothing for what it admitted.
  ...faults('store/lua/ledger/settle.lua', REDIS_LEDGER, ['#!lua flags=allow-oom', '#!lua']),
  // A credit counts again at each start.
  ...faults('store/lua/ledger/topup.lua', REDIS_LEDGER, ["redis.call('HSET', BAL, 'c:' .. id, credit)", '']),
  // Holds of proxies that died stay on an account that has more than its share of them.
  ...faults('store/redis/ledger.ts', 'store/redis/ledger.test.ts', [
    'result.value.length === share',
    'false',
  ]),

  ...faults(
    'crds/sluice.dev_credits.yaml',
    'test/crd/rules.test.ts',
    // A credit changes after it was applied.
    ['rule: self == oldSelf', 'rule: self == self'],
  ),
  ...faults(
    'crds/sluice.dev_apikeys.yaml',
    'test/crd/rules.test.ts',
    // The API server has other words than a folder.
    ['message: spec names both secretRef and hashes; keep one of them', 'message: one of them'],
  ),
  ...faults(
    'crds/sluice.dev_channels.yaml',
    'test/crd/crds.test.ts',
    // What waits for Ready goes on before the controller has looked.
    ['status: Unknown', 'status: "True"'],
  ),
  ...faults(
    'contract/api/fields.ts',
    'test/crd/schemas.test.ts',
    // A folder takes names that no cluster takes.
    ['(\\.[a-z0-9]+(-+[a-z0-9]+)*)*$/', '[-.a-z0-9]*$/'],
  ),
  ...faults(
    'tools/cluster/state.ts',
    'tools/cluster/state.test.ts',
    // make down ends whatever has the pid now.
    ['beginning(pid) === began', 'beginning(pid) !== undefined'],
    // A server is elsewhere after each start.
    ['if (before !== undefined) return before', 'if (before !== undefined) return before + 1'],
  ),

  // A key that is switched off is explained as if it were served.
  ...faults('proxy/pipeline/explain.ts', 'proxy/pipeline/explain.test.ts', [
    'if (!isInForce(key, nowMs))',
    'if (false)',
  ]),
  ...faults(
    'proxy/pipeline/explain.ts',
    'proxy/pipeline/explain.test.ts',
    // The last refusal is told, not the one that the client meets.
    ['explanation.refusal ??= ', 'explanation.refusal = '],
  ),
  // A proxy of a former leader counts as current.
  ...faults('cli/status.ts', 'cli/status.test.ts', ['b.epoch - a.epoch || b.generation', 'b.generation']),
  // A model name that a client made up moves the operator's cursor.
  ...faults('cli/table.ts', 'cli/table.test.ts', ['return plain(String(cell))', 'return String(cell)']),
  // The pods are asked without the token.
  ...faults('cli/admin/pods.ts', 'cli/admin/pods.test.ts', ['query, headers, timeoutMs', 'query, timeoutMs']),
  // Helm and an autoscaler fight over the number of proxies.
  ...faults('helm/sluice/templates/proxy.yaml', 'test/chart/values.test.ts', [
    'or $.Values.autoscaling.enabled (kindIs',
    'or false (kindIs',
  ]),
  // The proxies can talk to the API server.
  ...faults('helm/sluice/templates/proxy.yaml', 'test/chart/render.test.ts', [
    'automountServiceAccountToken: false\n      enableServiceLinks',
    'automountServiceAccountToken: true\n      enableServiceLinks',
  ]),
  // Everybody in the cluster reaches Redis.
  ...faults('helm/sluice/templates/networkpolicy.yaml', 'test/chart/render.test.ts', [
    '        - port: redis\n      from:',
    '        - port: redis\n      from:\n        - namespaceSelector: {}',
  ]),
  ...faults(
    'helm/sluice/files/rules.yaml',
    'test/chart/render.test.ts',
    // Every edit of a resource is an alarm.
    [' offset 1m', ''],
  ),
  ...faults(
    'helm/sluice/templates/_helpers.tpl',
    'test/chart/release.test.ts',
    // An upgrade throws the sealing key away.
    ['$root.Release.Namespace (index . 1) |', '$root.Release.Namespace "none" |'],
  ),
  ...faults(
    'helm/sluice/templates/rbac.yaml',
    'test/chart/release.test.ts',
    // The controller may delete any Secret.
    [', create{{ end }}]', ', create, delete{{ end }}]'],
  ),
  ...faults(
    'examples/ingress/nginx.conf',
    'test/e2e/ingress/ingress.test.ts',
    // The address of a client is lost where there is a load balancer before the ingress.
    ['$proxy_add_x_forwarded_for', '$remote_addr'],
  ),

  // An epoch that nobody began is a leader's.
  ...faults('store/lua/config/publish.lua', 'test/conformance/store/redis.test.ts', [
    'if tonumber(epoch) ~= tonumber(',
    'if tonumber(epoch) < tonumber(',
  ]),
  // A record in the place of another one is read.
  ...faults('store/sealing.ts', 'store/sealing.test.ts', [
    'const boundTo = (name: string) => Buffer.from(name)',
    'const boundTo = (_name: string) => Buffer.alloc(0)',
  ]),
  // An old table or record that somebody put back is read.
  ...faults('store/redis/manifest.ts', 'test/conformance/store/redis-config.test.ts', [
    "hash('sha1', sealed, 'hex') !== writtenAs(note)",
    'sealed === note',
  ]),
  // After a rotation records stay under the old key.
  ...faults('store/redis/manifest.ts', 'test/conformance/store/redis-config.test.ts', [
    'return kid === ring.sealsWith() ? digest',
    'return kid !== undefined ? digest',
  ]),
  // Announcements are missed in silence.
  ...faults('store/redis/follow.ts', 'test/conformance/store/redis-config.test.ts', [
    'const missed = before !== this.#place.generation',
    'const missed = before < 0',
  ]),
  // Every request waits for a server that does not answer.
  ...faults('store/redis/breaker.ts', 'test/conformance/store/redis-dead.test.ts', [
    'this.#timeouts.length < TIMEOUTS',
    'this.#timeouts.length <= TIMEOUTS',
  ]),
  // What was acknowledged before a server died is never sent again.
  ...faults('store/redis/connection.ts', 'test/conformance/store/redis-dead.test.ts', [
    'if (this.#lost.delete(node)) this.#restored(node)',
    'this.#lost.delete(node)',
  ]),

  // Ready is said before every proxy serves it.
  ...faults('controller/status/board.ts', 'test/integration/fleet/agreement.test.ts', [
    'const served = Math.min(...this.#live',
    'const served = Math.max(...this.#live',
  ]),
  // A key that was taken back is served from memory.
  ...faults('proxy/table/follower.ts', 'test/integration/fleet/changes.test.ts', [
    'this.#records.changed(change)',
    'void change',
  ]),
  // A new upstream credential waits for another change.
  ...faults('controller/source/cluster/cluster.ts', 'test/integration/fleet/changes.test.ts', [
    'changes.some(({ key }) => this.#named.has(key))',
    'changes.length < 0',
  ]),
  // Every change writes all records.
  ...faults('controller/publish/changes.ts', 'test/integration/fleet/writes.test.ts', [
    'if (stored.get(id) !== hash) put.set(id, record)',
    'put.set(id, record)',
  ]),
  // A new leader writes every status again.
  ...faults('controller/status/writer.ts', 'test/integration/fleet/writes.test.ts', [
    'says(found.status, status) ||',
    '',
  ]),

  // A resource is Ready by what was served before what it names came, or of an earlier one of its name.
  ...faults(
    'controller/status/board.ts',
    'controller/status/board.test.ts',
    ['isDeepStrictEqual(verdict(old), verdict(now))', 'true'],
    ['isDeepStrictEqual(old.fields, now.fields) &&', ''],
    ['old?.object.metadata.uid === object.metadata.uid', 'true'],
  ),
  // After a list that found nothing new, the next deletion of many keys is taken for a mistake.
  ...faults('controller/source/cluster/cluster.ts', 'controller/source/cluster/cluster.test.ts', [
    'this.#anew ||= listed',
    'this.#anew = true',
  ]),
  // What is missing after a list is deleted at once, whatever the API server has lost.
  ...faults('controller/kube/reflector.ts', 'controller/source/cluster/cluster.test.ts', [
    'this.#deliver(true)',
    'this.#deliver(false)',
  ]),
  // A status that somebody took away is not written again.
  ...faults('controller/status/writer.ts', 'controller/status/writer.test.ts', [
    'seen !== undefined && !says(seen.status, status)',
    'true',
  ]),

  // A record that somebody removed is taken for a key that nobody has, for ever.
  ...faults('store/redis/manifest.ts', 'test/conformance/store/redis-config.test.ts', [
    'if (sealed === null && note === null)',
    'if (sealed === null)',
  ]),
  // What somebody removed is never written again.
  ...faults('store/lua/config/differing.lua', 'test/conformance/store/redis-config.test.ts', [
    "if type(sealed) ~= 'string' or redis.sha1hex",
    "if type(sealed) == 'string' and redis.sha1hex",
  ]),
  // A spoilt table keeps proxies from starting until everything is looked at.
  ...faults('controller/lead.ts', 'test/integration/controller/redis.test.ts', [
    'this.#publisher.verifyTable()',
    'Promise.resolve()',
  ]),
  // A publication is said to be in force before its keys were heard of.
  ...faults('proxy/table/follower.ts', 'proxy/table/follower.test.ts', [
    'this.#applied = newest(this.#applied, taken)',
    'this.#applied = newest(this.#applied, this.#table)',
  ]),
  // A stream of a revoked key lasts when the store was slow once.
  ...faults('proxy/pipeline/revocation.ts', 'proxy/pipeline/revocation.test.ts', [
    'if (usable === undefined) unknown.push(hash)',
    'if (usable === undefined) return',
  ]),
  // A cost that is being charged is written down as lost.
  ...faults('proxy/ledger/settles.ts', 'proxy/ledger/settles.test.ts', [
    '    // What is under way may still be posted.\n    await this.#round\n',
    '',
  ]),
  // Errors of upstreams fill the memory that balances need.
  ...faults('store/redis/state.ts', 'test/conformance/store/redis-log.test.ts', [
    'Math.min(logCapacity, Math.ceil(LOG_BYTES / mean))',
    'logCapacity',
  ]),

  // A person who mends a field hears of the next fault only then.
  ...faults('controller/source/spec.ts', 'controller/source/spec.test.ts', [
    'for (const rule of kind.rules)',
    'for (const rule of parsed.success ? kind.rules : [])',
  ]),
  // A field that was emptied is refused in a folder alone.
  ...faults('controller/source/spec.ts', 'controller/source/spec.test.ts', [
    'withoutNulls(kind.spec, value)',
    'value',
  ]),
  // The API server answers with a regular expression.
  ...faults('tools/generate/schema.ts', 'tools/generate/schema.test.ts', [
    "if (typeof said === 'string') return said",
    '',
  ]),
  // A route whose retry kubectl cannot read is said to be fine.
  ...faults('controller/source/folder/documents.ts', 'cli/validate.test.ts', [
    'if (String(value) === source) return',
    'return',
  ]),
  // The items of a list are lost.
  ...faults('controller/source/folder/items.ts', 'controller/source/folder/documents.test.ts', [
    'if (!success) return [document]',
    'if (!success || document.file) return [document]',
  ]),

  // A Credit whose Account is made anew is given a second time by a ledger that was wiped.
  ...faults('controller/status/board.ts', 'controller/status/board.test.ts', [
    'money: again?.money ?? {},',
    'money: {},',
  ]),
  // So is a Credit that the ledger took before a process could record it.
  ...faults('controller/publish/credits.ts', 'controller/publish/credits.test.ts', [
    "{ outcome: 'already', appliedAt: now() }",
    "{ outcome: 'already' }",
  ]),
  // After a fence nobody leads for the length of the Lease.
  ...faults('cli/controller.ts', 'test/integration/controller/program.test.ts', [
    'Promise.race([stop(), pause(STOP_MS)])',
    'Promise.resolve()',
  ]),
  // make up believes another server to be the example upstream.
  ...faults('tools/cluster/detached.ts', 'tools/cluster/state.test.ts', [
    'if (await isFree(port)) continue',
    'if (port > 0) continue',
  ]),
  // A web page reads the admin port through a browser on the host.
  ...faults('admin/server.ts', 'admin/server.test.ts', [' && namesLoopback(req.headers.host)', '']),
  // A lost account is asked for and told of for ever, by each of its settles.
  ...faults('proxy/ledger/missing-accounts.ts', 'proxy/ledger/settles.test.ts', [
    'Math.min(waitMs * 2, MAX_RETRY_MS)',
    'FIRST_RETRY_MS',
  ]),
  // Nobody hears that no controller leads.
  ...faults('cli/status.ts', 'cli/status.test.ts', [
    'controllers.length > 0 && !controllers',
    'false && !controllers',
  ]),
  // Half an object, cut off by a dying server, is taken for the end of a watch.
  ...faults('controller/kube/lines.ts', 'controller/kube/lines.test.ts', [
    'if (length > 0) throw',
    'if (false) throw',
  ]),
  ...faults(
    'controller/kube/object-cache.ts',
    'controller/kube/reflector.test.ts',
    // What was deleted while the API server was away stays in force.
    ['if (!list.entries.has(key)) changes', 'if (false) changes'],
    // After each list everything is news.
    ['if (known?.resourceVersion === resourceVersion)', 'if (false)'],
  ),
  ...faults(
    'controller/kube/reflector.ts',
    'controller/kube/reflector.test.ts',
    // A place that the server has forgotten is asked for, for ever.
    ['if (status === GONE) {', 'if (false) {'],
    // A connection that is silently dead is waited on for ever.
    ['setTimeout(() => this.#stream.abort(), this', 'setTimeout(() => {}, this'],
  ),
  ...faults(
    'controller/kube/lease.ts',
    'controller/kube/lease.test.ts',
    // A second process of the same name leads beside the first.
    ['return this.#renewed?.renewTime === renewTime', 'return true'],
    // Who cannot renew still leads when another does.
    ['const RENEW_DEADLINE = 10 / 15', 'const RENEW_DEADLINE = 25 / 15'],
    // A leader that goes leaves a gap as long as its lease.
    ['await this.#giveBack(lease)', ''],
  ),
  // A create of which it is not known whether it was done is done twice.
  ...faults('controller/kube/client.ts', 'controller/kube/client.test.ts', [
    "status === 503 && call.method !== 'POST'",
    'status === 503',
  ]),
  // The values of a refused object stand in the log.
  ...faults('controller/kube/errors.ts', 'controller/kube/client.test.ts', ['code === 422 && ', 'false && ']),
]
