/** Faults on the way of a request through the proxy. */
import { faults, type Mutant } from '../fault.ts'

export const PIPELINE: Mutant[] = [
  ...faults(
    'proxy/pipeline/billing/charge.ts',
    'test/e2e/prices.test.ts',
    // Accounts without money let an upstream search.
    ['const calls = callsHeld(request.head)', 'const calls = undefined'],
  ),
  ...faults(
    'proxy/pipeline/billing/charge.ts',
    'test/e2e/image-billing.test.ts',
    // What was requested is charged instead of what was made.
    ['const asked = charged.delivered.imageKind', 'const asked = undefined'],
  ),
  ...faults(
    'proxy/ledger/holds.ts',
    'test/e2e/limits.test.ts',
    // Keys without an account have no limits.
    ['const isBound = enforced || limits.length > 0 ||', 'const isBound = enforced ||'],
  ),
  ...faults(
    'proxy/ledger/holds.ts',
    'test/e2e/budgets.test.ts',
    // An unlimited account has no budget.
    ['limits.length > 0 || budgets.length > 0', 'limits.length > 0'],
    // A model that does not exist tells a key without money that it has some.
    ['if (!account.enforced && budgets.length === 0) return', 'if (!account.enforced) return'],
  ),
  ...faults(
    'proxy/ledger/budgets.ts',
    'test/e2e/budgets.test.ts',
    // A budget for some models bounds all of them.
    ['record.model === undefined || matchesGlob(record.model, model)', 'true'],
    // A model without a price is served for nothing to who has a budget.
    [
      'return [key.budgets, account.budgets, account.parent?.budgets].some((budgets) => budgets?.some(matches))',
      'return false',
    ],
  ),
  ...faults(
    'proxy/ledger/holds.ts',
    'proxy/ledger/holds.test.ts',
    // While Redis is away, each proxy serves a key with a budget.
    ['const mayCountLocally = ofKey && budgets.length === 0', 'const mayCountLocally = ofKey'],
  ),
  ...faults(
    'proxy/pipeline/usage/own-usage.ts',
    'proxy/pipeline/usage/own-usage.test.ts',
    // A key sees what other keys of its account have used.
    ["'key' in row && row.key === key.id && row.day !== undefined", "'key' in row && row.day !== undefined"],
    // The last seconds are missing.
    ['if (account !== undefined)\n    for (const row of', 'if (false)\n    for (const row of'],
  ),
  ...faults('proxy/pipeline/usage/own-usage.ts', 'test/e2e/usage.test.ts', [
    // An allowance that is a budget looks like a debt.
    'account.ofKey === true || account.byBudget === true',
    'account.ofKey === true',
  ]),
  ...faults(
    'proxy/pipeline/billing/charge.ts',
    'test/e2e/usage.test.ts',
    // Keys without an account use nothing.
    ['if (this.#hold !== undefined) return\n', 'return\n'],
    // The margin is the whole price.
    ['flags, upstreamCost }', 'flags }'],
  ),
  ...faults(
    'proxy/pipeline/request/tags.ts',
    'test/e2e/usage.test.ts',
    ['pairs.length > MOST', 'false'],
    ['|| more.length > 0', ''],
    ['Object.hasOwn(tags, name)', 'false'],
  ),
  ...faults(
    'controller/books/usage-report.ts',
    'test/e2e/usage.test.ts',
    // The last ten seconds are missing.
    ['    await counter.count(place)\n', ''],
  ),
  ...faults(
    'proxy/ledger/limit-queues.ts',
    'proxy/ledger/limit-queues.test.ts',
    // As many wait as there are.
    ['if (places.length >= queue.most) return undefined', ''],
    // A client that left stands before others for ever.
    ['if (at >= 0) places.splice(at, 1)', ''],
    // Places that another proxy frees are never found.
    ['Math.min(left, POLL_MS)', 'left'],
  ),
  ...faults(
    'proxy/ledger/hold.ts',
    'test/e2e/limits.test.ts',
    // Tokens that were not used count for a minute.
    ["kind === 'tokens' && tokens !== takes", 'false'],
  ),
  ...faults(
    'proxy/ledger/limits.ts',
    'test/e2e/limits.test.ts',
    // Sub-accounts escape the limits of their parent.
    ['...(parent === undefined ? [] :', '...(true ? [] :'],
    // A limit of one model binds all.
    ['model === undefined || matchesGlob(model, request.model)', 'true'],
  ),
  ...faults(
    'proxy/pipeline/answer/stream-answer.ts',
    'proxy/pipeline/answer/stream-answer.test.ts',
    // The cost is that of half a stream.
    ['const sent = observer.done ? withLast(bytes) : bytes', 'const sent = withLast(bytes)'],
  ),
  ...faults(
    'proxy/pipeline/answer/cost.ts',
    'test/e2e/cost.test.ts',
    // The cost comes after the last event, where no client reads.
    ['const at = startOfLast(events)', 'const at = events.length'],
    // Clients that did not ask for it get a comment.
    ["headers[WANTED] === 'true'", 'true'],
  ),
  ...faults(
    'proxy/pipeline/serve.ts',
    'test/e2e/billing.test.ts',
    // The money of a failed request stays held.
    ['bill?.settle(charged))', '(charged === undefined ? undefined : bill?.settle(charged)))'],
  ),

  ...faults(
    'proxy/pipeline/serve.ts',
    'test/e2e/refusals.test.ts',
    // A balance error precedes the model check.
    [
      'allowModel(ctx.caller, read.request)',
      'await refuseWithoutFunds(billing, ctx, read.request.head.model); allowModel(ctx.caller, read.request)',
    ],
    // A missing route is reported before missing funds.
    [
      "await refuseWithoutFunds(billing, ctx, model)\n  throw new GatewayError('upstream_error'",
      "throw new GatewayError('upstream_error'",
    ],
  ),

  ...faults(
    'proxy/pipeline/serve.ts',
    'test/e2e/empty-accounts.test.ts',
    // An account without money counts tokens at an upstream.
    ['if (call.endpoint.unbilled || call.generate === false)', 'if (call.generate === false)'],
    // An account without money prepares turns on a WebSocket.
    ['if (call.endpoint.unbilled || call.generate === false)', 'if (call.endpoint.unbilled)'],
  ),

  ...faults(
    'proxy/pipeline/attempt/upstream-stream.ts',
    'proxy/pipeline/attempt/upstream-stream.test.ts',
    // A comment of a queueing upstream rules out another attempt.
    ["!DATA_LINE.test(bytes.toString('latin1'))", 'false'],
    // Empty events of a queueing upstream rule out another attempt.
    ['if (!this.observer.begun) {', 'if (false) {'],
    // A pinging upstream is waited for until the total time is over.
    ['if (this.observer.begun) this.#response.noteContent()', 'this.#response.noteContent()'],
    // A cut stream looks finished.
    ['if (this.observer.finished) return', 'if (this.#known) return'],
    // A slow client fills the memory.
    ['if (!this.#taker.take(bytes)) this.#response.pause()', 'this.#taker.take(bytes)'],
  ),

  ...faults(
    'proxy/pipeline/request/client.ts',
    'proxy/pipeline/request/client.test.ts',
    // The upstream keeps working, and is paid, for a client that left.
    ['if (!res.writableFinished) controller.abort(new ClientGone())', ''],
  ),

  ...faults(
    'proxy/pipeline/answer/event-stream.ts',
    'proxy/pipeline/answer/event-stream.test.ts',
    // Load balancers cut a stream while the model reasons.
    ['this.#send(this.#begun ? keepAlive : COMMENT)', 'void COMMENT'],
    // A stream that flows gets keep-alives between its events.
    ['const isSilent = left < 1', 'const isSilent = true'],
  ),

  ...faults(
    'proxy/pipeline/attempt/try-targets.ts',
    'test/e2e/routing.test.ts',
    // An invalid request is sent to every channel.
    ['!route.retry.on.includes(outcome.class) && ', 'false && '],
  ),

  ...faults(
    'contract/endpoints.ts',
    'test/e2e/text-or-image.test.ts',
    // A request that a text channel cannot answer becomes an image.
    ["if (CHANNEL_TYPE_FACTS[type].imagesOnly && serving === 'hub' && !picturesOnly) return undefined", ''],
  ),
  // While its text channel is disabled, a route's requests become images.
  ...faults('controller/compile/channels.ts', 'controller/compile/cases.test.ts', [
    'for (const resource of snapshot.channels) types.set',
    'for (const resource of snapshot.channels) if (records.has(nameOf(resource))) types.set',
  ]),
  ...faults(
    'proxy/dialects/images/codec/request/lose.ts',
    'test/e2e/text-or-image.test.ts',
    // A client that requested a tool call pays for an image.
    [
      "throw unsupported(losses, 'tools', 'may contain",
      "if (turns.length < 0) throw unsupported(losses, 'tools', 'may contain",
    ],
  ),

  // The log shows a credential, or the path of another request.
  ...faults(
    'proxy/pipeline/attempt/shown-path.ts',
    'proxy/pipeline/attempt/shown-path.test.ts',
    ['mask(pathOf(channel, path), [])', 'pathOf(channel, path)'],
    ['known?.path === path', 'known !== undefined'],
  ),

  // A channel excluded by weight 0 gets traffic.
  ...faults(
    'proxy/pipeline/route.ts',
    'proxy/pipeline/route.test.ts',
    ["if (target.weight === 0) return 'its weight is 0'", ''],
    // Every endpoint gets the channels of the one that was called first.
    [
      'if (known.has(endpoint)) return known.get(endpoint)',
      'for (const first of known.values()) return first',
    ],
    // The targets are found anew for every request.
    ['KNOWN.set(match, known.set(endpoint, found))', ''],
  ),

  ...faults(
    'proxy/pipeline/body/read-body.ts',
    'test/e2e/bad-input.test.ts',
    // A body of exactly the limit is refused.
    ['else if (size > heldBytes) {', 'else if (size >= heldBytes) {'],
  ),

  // Clients fill the metrics with made-up models.
  ...faults('proxy/pipeline/request/journal.ts', 'proxy/pipeline/request/journal.test.ts', [
    "record.route ?? 'unknown'",
    "record.route ?? record.model ?? 'unknown'",
  ]),

  // A disabled key is explained as if it were served.
  ...faults('proxy/pipeline/explain.ts', 'proxy/pipeline/explain.test.ts', [
    'if (!isInForce(key, nowMs))',
    'if (false)',
  ]),

  ...faults(
    'proxy/pipeline/explain.ts',
    'proxy/pipeline/explain.test.ts',
    // The last refusal is reported instead of the one that applies to the client.
    ['explanation.refusal ??= ', 'explanation.refusal = '],
  ),

  ...faults(
    'proxy/pipeline/admission/revocation.ts',
    'proxy/pipeline/admission/revocation.test.ts',
    // A stream of a revoked key continues if the store was slow once.
    ["if (key === 'unknown') unknown.push(hash)", "if (key === 'unknown') return"],
    // A WebSocket outlives its key, because an expiry is not a change.
    ['if (watched.expiry === undefined) this.#awaitExpiry(hash, watched, key)', ''],
    // It continues where its key is no longer allowed.
    ['else if (!mayComeFrom(key, address))', 'else if (key.version === 0)'],
  ),

  // A conversation that started on another channel cannot be continued.
  ...faults('proxy/pipeline/attempt/adapt-after-refusal.ts', 'test/e2e/faults/retry-with-changes.test.ts', [
    '? { withoutCarriers: true }',
    '? undefined',
  ]),
  ...faults(
    'proxy/pipeline/attempt/try-targets.ts',
    'test/e2e/faults/retry-with-changes.test.ts',
    // A conversion error is the caller's mistake.
    ['if (!targets.some(isUnconverted)) return false', 'return false'],
  ),
  ...faults(
    'proxy/pipeline/attempt/try-targets.ts',
    'test/e2e/retries.test.ts',
    // A refused credential is sent three times.
    ["credential: 'channel',", ''],
    // SDKs give up although a channel is only busy.
    ['final: passing.length === 0 && ', 'final: true || '],
    // SDKs repeat requests that every channel refuses for good.
    ['final: passing.length === 0 && ', 'final: false && '],
  ),
  // A request that cannot be converted counts as the upstream's fault.
  ...faults('proxy/pipeline/attempt/try-targets.ts', 'test/e2e/dialects/rules.test.ts', [
    'progress.refusal ??= error',
    '',
  ]),
  ...faults(
    'proxy/pipeline/attempt/try-once.ts',
    'test/e2e/channels.test.ts',
    // A route waits as long as its slowest channel.
    ['route.retry.perTryTimeoutMs ?? firstByte', 'firstByte'],
    // A channel that answers still approaches ejection.
    ["if ('answer' in result) health.succeeded(place)", ''],
  ),
  ...faults(
    'proxy/pipeline/attempt/try-once.ts',
    'test/e2e/stream-billing.test.ts',
    // A client that leaves during a complete answer pays nothing for it.
    ['status === undefined ? sent : status === 200', 'status === undefined && sent'],
    // A client that leaves before the answer pays nothing for what the upstream reads.
    ['status === undefined ? sent : status === 200', 'status === 200'],
    // A client pays for a request that no upstream has read.
    ['status === undefined ? sent : status === 200', 'status === undefined || status === 200'],
  ),
  // A client pays for a large request that its upstream has hardly begun to read.
  ...faults('proxy/outbound/request.ts', 'test/e2e/stream-billing.test.ts', [
    'const QUEUED_WHOLE_BYTES = 1_048_576',
    'const QUEUED_WHOLE_BYTES = 2 ** 40',
  ]),
  // An error with an endless body keeps a request from the next channel.
  ...faults('proxy/pipeline/attempt/try-once.ts', 'test/e2e/interrupted-requests.test.ts', [
    'setTimeout(() => response.abort(), ERROR_BODY_MS)',
    'setTimeout(() => {}, ERROR_BODY_MS)',
  ]),
  ...faults(
    'proxy/pipeline/conversation/request-lanes.ts',
    'test/e2e/dialects/reasoning.test.ts',
    // A conversation cannot be continued because its envelopes never open.
    [
      'createEnvelopes(sealing, ownerOf(caller), DIALECTS)',
      'createEnvelopes(sealing, String(Math.random()), DIALECTS)',
    ],
  ),
  ...faults(
    'proxy/pipeline/attempt/upstream-stream.ts',
    'proxy/pipeline/attempt/upstream-stream.test.ts',
    // An HTML page is read as a stream.
    ["if (!STREAM_BEGIN.test(chunk.toString('latin1', at, at + BEGIN_BYTES)))", 'if (chunk[at] === 0x7b)'],
    // A complete answer counts as a failure when its connection breaks.
    ['this.#whole === undefined && this.observer.finished', 'this.#whole === undefined && false'],
  ),
  // Clients that know no ping get one before the first event.
  ...faults('proxy/pipeline/answer/event-stream.ts', 'proxy/pipeline/answer/event-stream.test.ts', [
    'this.#begun ? keepAlive : COMMENT',
    'keepAlive',
  ]),
  ...faults(
    'proxy/pipeline/attempt/drain.ts',
    'test/e2e/endings.test.ts',
    // Hidden reasoning is estimated although its usage was about to come.
    ['this.#endSeen() ? AFTER_END_MS : 0', '0'],
    // A client that leaves ends a call that should drain.
    ["onDisconnect === 'Drain' ? (timeoutsMs.drain ?? AFTER_END_MS) : 0", '0'],
    // The bound on draining calls is used up for good.
    ['if (this.#calls.delete(call)) this', 'if (this.#calls.has(call)) this'],
  ),
  ...faults(
    'proxy/pipeline/answer/stream-answer.ts',
    'test/e2e/endings.test.ts',
    // A drained call keeps waiting for the client that left.
    ['if (call.draining) return upstream.resume()', ''],
  ),
  ...faults(
    'proxy/ledger/learned.ts',
    'test/e2e/disconnects.test.ts',
    // Hidden reasoning is free for a client that leaves.
    ['Math.ceil(hidden + outputEstimate(delivered) * ratio)', 'Math.ceil(outputEstimate(delivered) * ratio)'],
  ),
  ...faults(
    'proxy/ledger/learned.ts',
    'proxy/ledger/learned.test.ts',
    // Hidden reasoning that an upstream does not report is free.
    ['Math.max(reported, output - MOST_RATIO * estimated)', 'reported'],
    // Visible reasoning is charged twice.
    ['Math.min(reasoning, Math.max(0, output - estimated))', 'reasoning'],
  ),
  ...faults(
    'proxy/pipeline/billing/output-limit.ts',
    'proxy/pipeline/billing/output-limit.test.ts',
    // Clients with money are cut short.
    ['bought < contextLength ? bought : undefined', 'bought'],
    // Several answers may each cost all of the funds.
    ['(MILLION / choices)', 'MILLION'],
  ),
  ...faults(
    'proxy/pipeline/attempt/adapt-after-refusal.ts',
    'test/e2e/output-limit.test.ts',
    // An upstream that does not take the gateway's limit serves no one.
    ['lane.outputLimit !== undefined && refusesLimit(failure)', 'false'],
  ),
  ...faults(
    'proxy/pipeline/billing/unpriced.ts',
    'test/e2e/prices.test.ts',
    // The upstream bills searches that no account pays.
    ['price.perCall?.[tool] === undefined)', 'false)'],
  ),
  ...faults(
    'proxy/dialects/responses/usage.ts',
    'proxy/dialects/responses/usage.test.ts',
    // Pages that a search opens are charged as searches.
    ["tool === 'webSearch' && isFree", 'false'],
  ),
]
