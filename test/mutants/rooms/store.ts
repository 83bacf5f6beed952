/** Faults of the store. */
import { faults, type Mutant } from '../fault.ts'

const CONFORMANCE = 'test/conformance/store/embedded.test.ts'
const REDIS_LEDGER = 'test/conformance/store/redis-ledger.test.ts'

export const STORE: Mutant[] = [
  ...faults(
    'store/lua/config/lead.lua',
    'test/conformance/store/redis.test.ts',
    // A candidate takes the lead of another one.
    ['if leader and leader ~= ARGV[1] then return leader end\n', ''],
    // A dead leader leads for ever.
    [", 'PX', ARGV[2])", ')'],
  ),
  ...faults(
    'store/lua/config/resign.lua',
    'test/conformance/store/redis.test.ts',
    // A candidate ends the lead of another one.
    ["if redis.call('GET', KEYS[1]) == ARGV[1] then ", 'if true then '],
  ),
  ...faults(
    'store/sealing.ts',
    'store/sealing.test.ts',
    // A sealed text can be changed, and still opens.
    ['ct: z.base64()', 'ct: z.string()'],
  ),
  ...faults(
    'store/redis/table-text.ts',
    'store/redis/table-text.test.ts',
    // A large table is parsed at one go.
    ["one.startsWith(' ')", 'false'],
  ),
  ...faults(
    'store/redis/open-sealed.ts',
    'store/redis/open-sealed.test.ts',
    // All requests wait until a large table is checked.
    ['if (this.#now() - since < AT_ONCE_MS) continue', 'continue'],
    // Each table is read as a whole.
    ['before.get(text) ?? ', ''],
    // What was the same twice is read at the third table.
    ['    now.set(text, record)\n', '    if (!before.has(text)) now.set(text, record)\n'],
    // The error does not say in which route.
    ['[...at, ...(error.issues[0]?.path ?? [])]', '[...(error.issues[0]?.path ?? [])]'],
  ),
  ...faults(
    'store/embedded/config.ts',
    CONFORMANCE,
    // A replaced controller continues to write.
    ['publication.epoch !== epoch', 'publication.epoch > epoch'],
    // A publication is accepted twice.
    ['publication.generation <= generation', 'publication.generation < generation'],
    // The table in force changes with the writer's own copy.
    [': frozenCopy(publication.table)', ': publication.table'],
  ),

  ...faults(
    'store/embedded/ledger.ts',
    'store/embedded/embedded.test.ts',
    // The entries of two hours fill the memory.
    ['later(state.log.newest(mostOfAccount()), ', 'later(undefined, '],
    // Each of hundreds of accounts fills as much memory as one alone.
    ['Math.floor(MOST_IN_ALL / requesting.size)', 'MOST_IN_ALL'],
    // Accounts that send no requests take from those that do.
    ['MOST_IN_ALL / requesting.size', 'MOST_IN_ALL / accounts.size'],
  ),
  ...faults(
    'store/ledger/tombstones.ts',
    'store/ledger/tombstones.test.ts',
    // The ids of a quarter of an hour fill the memory.
    ['this.#newest.size >= this.#most()', 'false'],
    // Ids stay for as long as no newer ones come.
    ['number === this.#last + 1 ? this.#newest : new Map()', 'this.#newest'],
    // A late reserve holds money for a request that is over.
    ['nowMs - now * KEEP_MS < RECENT_MS', 'false'],
  ),
  // Among many requests a settle that is sent twice is charged twice.
  ...faults('store/ledger/tombstones.ts', 'store/embedded/embedded.test.ts', [
    'if (isFull) this.#droppedTo = this.#began',
    '',
  ]),

  ...faults(
    'store/ledger/shortfall.ts',
    CONFORMANCE,
    // An account without money starts free requests.
    ['posted + allowed <= 0', 'posted + allowed < 0'],
    // Parallel requests spend the same money.
    ['hold: posted - held + allowed < amount', 'hold: posted + allowed < amount'],
    // A budget bounds no request.
    [
      'const spent = findSpent(state, budgets, amount, nowMs)',
      'const spent = findSpent(state, [], amount, nowMs)',
    ],
  ),
  ...faults(
    'store/ledger/settle.ts',
    CONFORMANCE,
    // A settle that is sent twice is charged twice.
    [
      '    entomb(state, { id, sub, actual, entry, reservedAt })\n    correct(state, corrections, timeOf(entry))\n    return { reply: kind',
      '    correct(state, corrections, timeOf(entry))\n    return { reply: kind',
    ],
    // The same, while the tombstone is gone and the hold still counts as young.
    ['knowsAll(reservedAt - setBackMs', 'knowsAll(reservedAt'],
    // The late settle charges again what the expiry charged.
    ['amount: actual - expired.charged', 'amount: actual'],
    ['amount: actual - (live.paid ?? 0)', 'amount: actual'],
    // A request whose hold was lost is never paid.
    ["kind: 'lost', amount: actual }", "kind: 'lost', amount: 0 }"],
    // A balance that was restored counts a repeated settle twice.
    ['compareEntries(postedAs, restoredTo) <= 0', 'compareEntries(postedAs, restoredTo) < 0'],
  ),
  ...faults(
    'store/ledger/postings.ts',
    CONFORMANCE,
    // A settle that is repeated is charged twice if the clock was set back.
    [
      'state.setBackMs = Math.max(state.setBackMs, Math.min(closed.reservedAt - entryMs, MOST_SET_BACK_MS))',
      '',
    ],
    // A place among requests at a time is never free again.
    ['  addRunning(state, live.running, -1)\n', ''],
    // What a request held stays held in its budget for ever.
    ['  holdIn(state, live.budgets, 0 - live.amount, nowMs)\n', ''],
    // A budget is never spent.
    ['  chargeTo(state, budgets.ids, 0 - delta, nowMs, budgets.named)\n', ''],
    // Streams outgrow a budget together.
    ['  if (added > 0) holdIn(state, live.budgets, added, nowMs)\n', ''],
  ),
  ...faults(
    'store/ledger/expiry.ts',
    CONFORMANCE,
    // A hold that expires twice is charged twice.
    ["kind: 'expire', ref: id, sub, amount: seen - paid", "kind: 'expire', ref: id, sub, amount: seen"],
  ),
  ...faults(
    'store/ledger/reserve.ts',
    CONFORMANCE,
    // Holds of a dead proxy block the account until the next reap.
    ['expireDue(state, nowMs, EXPIRED_AT_ONCE)', ''],
    // A killed proxy is charged nothing for what it had just begun.
    ['    seen,\n    paid: undefined,', '    seen: 0,\n    paid: undefined,'],
    // A refused request counts.
    ['  take(state, meters, nowMs)\n', ''],
  ),
  ...faults(
    'store/ledger/budgets.ts',
    CONFORMANCE,
    // A budget never renews.
    ['const spent = nowMs < known.until ? known.spent : 0', 'const spent = known.spent'],
    // Parallel requests spend the same budget.
    ['free: most - spent - held', 'free: most - spent'],
    // The clock of a proxy that is ahead renews a budget early, and ends the period too late.
    ['return nowMs < first ?', 'return false ?'],
    // Budgets of deleted keys stay for ever, or those in use are forgotten.
    ['if (held === 0 && after <= nowMs) budgets.delete(id)', 'budgets.delete(id)'],
    // A restore adds what was spent to a period that has begun since.
    ['    if (nowMs < until)\n', ''],
  ),
  ...faults(
    'store/ledger/usage.ts',
    CONFORMANCE,
    // A late settle counts its request once more.
    ["if (kind === 'late' || note === undefined) return { cost }", 'if (note === undefined) return { cost }'],
    // Requests that failed look like others.
    ["if (reason === 'unserved') counts.errors = 1", ''],
    // A key sees the usage of another one.
    ['|| (only !== undefined && key !== only)', ''],
  ),
  ...faults('store/embedded/ledger.ts', CONFORMANCE, [
    // Two controllers count the same entries.
    "if (mark !== undefined && state?.countedTo !== mark.after) return 'MOVED'",
    '',
  ]),
  ...faults(
    'store/lua/ledger/usage.lua',
    'test/conformance/store/redis.test.ts',
    ["if (redis.call('HGET', BAL, 'um') or '') ~= ARGV[1] then return 'MOVED' end", ''],
    ['sums[letter] = (sums[letter] or 0) + tonumber(count)', 'sums[letter] = tonumber(count)'],
    ["if day == '' then day = today end", "if day == '' then day = 0 end"],
  ),
  ...faults(
    'store/lua/ledger/budgets.lua',
    'test/conformance/store/redis.test.ts',
    ['if now >= sums.ends then sums.spent = 0 end', ''],
    ['budget.most - sums.spent - sums.held < amount', 'budget.most - sums.spent < amount'],
    ['if now < begins[1] then return begins[1], begins[2] end', ''],
    ['if now >= ends then return end', ''],
  ),
  ...faults('store/lua/ledger/holds.lua', 'test/conformance/store/redis.test.ts', [
    "if hold.budgets ~= '' then budgets().hold(hold.budgets, 0 - hold.amount, now) end",
    '',
  ]),

  ...faults(
    'store/ledger/credits.ts',
    CONFORMANCE,
    // A credit counts again on each start.
    ['state.credits.set(id, { sub, amount })', ''],
    // A leader that was replaced credits accounts.
    ["return natural('epoch', epoch) < state.epoch", "return natural('epoch', epoch) < 0"],
    // A correction that was computed from an older state is made.
    ['if (ifEntries !== undefined &&', 'if (false &&'],
    // Any text is kept as the last entry of a restore.
    ['if (restoredTo !== undefined) compareEntries(restoredTo, restoredTo)', ''],
  ),

  ...faults(
    'store/embedded/ledger.ts',
    'test/conformance/store/embedded-ledger.test.ts',
    // A settle whose entry was removed is charged twice.
    [
      'if (state.log.trim(before) > 0) state.trimmedTo = later(state.trimmedTo, before)',
      'state.log.trim(before)',
    ],
    // The mark of the journal falls, so that entries leave the store twice.
    ['state.journaled = later(state.journaled, upTo)', 'state.journaled = upTo'],
    // Entries that have not left the store are removed.
    [
      'compareEntries(upTo, oldest) < 0 ? upTo : oldest',
      'compareEntries(upTo, oldest) < 0 ? oldest : oldest',
    ],
  ),
  ...faults(
    'store/ledger/meters.ts',
    CONFORMANCE,
    // A large request under a small limit is refused for ever.
    ['Math.max(0, boundOf(meter) - fillOf(meter))', '(boundOf(meter) - fillOf(meter))'],
    // A request counts by the most that it might have used.
    ['fill(state, correction, correctionOf(correction), nowMs)', 'correctionOf(correction)'],
    // A meter that was not used for long admits its limit many times over.
    ['Math.max(0, stored.emptyAt - nowMs * 1_000)', 'stored.emptyAt - nowMs * 1_000'],
    // A raised limit is not in force for as long as the old one was used up.
    ['Math.floor((level * stored.most) / most)', 'level'],
    // The last request of a burst is refused.
    ['Math.floor((units * windowMs * 1_000) / most)', 'Math.ceil((units * windowMs * 1_000) / most)'],
    // Meters in use are forgotten.
    ['if (emptyAt <= nowMs * 1_000) fills.delete(id)', 'fills.delete(id)'],
  ),
  ...faults(
    'store/lua/ledger/meters.lua',
    'test/conformance/store/redis.test.ts',
    ["if most ~= '' then fill_meter(ARGV[at], level, most, now * 1000) end", ''],
    ['if level < 0 then return 0 end', ''],
    ['math.floor((level * filled_by) / most)', 'level'],
  ),
  ...faults('store/lua/ledger/holds.lua', 'test/conformance/store/redis.test.ts', [
    // A place among requests at a time is never free again.
    'add_running(hold.running, -1)',
    '',
  ]),
  ...faults('store/lua/ledger/order.lua', REDIS_LEDGER, [
    // The mark of the journal falls, so that entries leave the store twice.
    'if not field(name) or earlier(field(name), entry) then set(name, entry) end',
    'set(name, entry)',
  ]),
  ...faults('store/lua/ledger/holds.lua', 'test/integration/proxy/burst.test.ts', [
    // Requests at three proxies spend the same money.
    "posted - number('h') + payer.overdraft < amount",
    'posted + payer.overdraft < amount',
  ]),

  ...faults(
    'store/ledger/old-settle.ts',
    CONFORMANCE,
    // A settle that is repeated after half an hour is charged twice.
    ['if (charged === undefined) return post()', 'return post()'],
    // What was removed from the entries counts as never posted.
    ['compareEntries(trimmedTo, since) > 0', 'false'],
    // The entry of the same millisecond is missed.
    ['sinceMs - 1}', 'sinceMs}'],
    // The entry that is older than its hold is missed.
    ['command.reservedAt - setBackMs', 'command.reservedAt'],
  ),

  ...faults(
    'store/lua/ledger/holds.lua',
    REDIS_LEDGER,
    // Parallel requests spend the same money.
    ["posted - number('h') + payer.overdraft < amount", 'posted + payer.overdraft < amount'],
    // The tombstones of a quarter of an hour are dropped when it ends.
    ["return redis.call('HGET', bucket_key(bucket - 1), id)", 'return found'],
    // Tombstones stay for ever.
    ["if bucket ~= newest then redis.call('PEXPIRE', key, 4 * KEEP_MS) end", ''],
    // A request that was settled long ago counts as settled now.
    ['    drop_before(bucket)\n', ''],
    // Redis stands still while it frees a million settled requests.
    ["redis.pcall('UNLINK',", "redis.pcall('DEL',"],
    // The bucket before the current one is dropped, and a settle that is repeated is charged twice.
    ['math.min(newest, bucket - 2)', 'math.min(newest, bucket - 1)'],
    // The rest of many holds that ended together is never expired.
    ['if #due > max then next_end = due[max + 1].lease_end end', ''],
    // A settle that is repeated is charged twice if the clock was set back.
    ["if reserved_at > entry_ms then set('sb'", "if false then set('sb'"],
  ),

  ...faults(
    'store/lua/ledger/reap.lua',
    REDIS_LEDGER,
    // The settled requests of an account that is used no more stay until Redis frees them in the foreground.
    ["if bucket_at(now) > number('tb') then drop_before(bucket_at(now)) end\n", ''],
  ),

  ...faults(
    'store/lua/ledger/account.lua',
    REDIS_LEDGER,
    // Amounts of a million dollars lose their last digits.
    ["string.format('%d', n)", 'tostring(n + 0)'],
    // A correction of thousands of sub-accounts leaves entries without sums, and is never made.
    ['math.min(from + 3999, #changes)', '#changes'],
    // Of such a correction only the first sums are written.
    ['for from = 1, #changes, 4000 do', 'for from = 1, math.min(#changes, 4000), 4000 do'],
  ),

  // Holds of proxies of the previous version stay for ever once only this one runs.
  ...faults('store/lua/ledger/reap.lua', 'test/conformance/store/redis-ledger-previous.test.ts', [
    'expire_previous(now, max, reaped)\n',
    '',
  ]),

  // A controller of the previous version that leads again applies every credit once more.
  ...faults('store/lua/ledger/topup.lua', 'test/conformance/store/redis-ledger-previous.test.ts', [
    "set('c:' .. id, credit)",
    '',
  ]),

  // What was credited before the update counts as spent, negatively.
  ...faults('store/lua/ledger/open.lua', 'test/conformance/store/redis-ledger-previous.test.ts', [
    '  migrate()\n',
    '',
  ]),

  // A server without memory admits requests that it may not be able to account for.
  ...faults('store/lua/ledger/reserve.lua', REDIS_LEDGER, ['#!lua', '#!lua flags=allow-oom']),

  // A settle that is repeated while its tombstone is gone is charged twice if the clock was set back.
  ...faults('store/lua/ledger/settle.lua', REDIS_LEDGER, ['> KEEP_MS - set_back', '> KEEP_MS']),

  // Whoever repeats a settle does not learn what was posted, and a restore charges it again.
  ...faults('store/lua/ledger/settle.lua', REDIS_LEDGER, ["return { 'DUP', entry }", "return { 'DUP' }"]),

  // Requests are refused as unpaid, or served for nothing, while a balance is restored.
  ...faults('store/lua/ledger/reserve.lua', REDIS_LEDGER, [" or field('cl') == '1' then", ' then']),

  // A server without memory charges nothing for admitted requests.
  ...faults('store/lua/ledger/settle.lua', REDIS_LEDGER, ['#!lua flags=allow-oom', '#!lua']),

  // A credit counts again on each start.
  ...faults('store/lua/ledger/topup.lua', REDIS_LEDGER, ["redis.call('HSET', CRD, id, credit)", '']),

  // An unissued epoch is accepted as a leader's.
  ...faults('store/lua/config/publish.lua', 'test/conformance/store/redis.test.ts', [
    'if tonumber(epoch) ~= tonumber(',
    'if tonumber(epoch) < tonumber(',
  ]),

  // A record moved to the place of another is read.
  ...faults('store/sealing.ts', 'store/sealing.test.ts', [
    'const boundTo = (name: string) => Buffer.from(name)',
    'const boundTo = (_name: string) => Buffer.alloc(0)',
  ]),

  // An old table or record that someone restored is read.
  ...faults('store/redis/manifest.ts', 'test/conformance/store/redis-config.test.ts', [
    "hash('sha1', sealed, 'hex') !== envelopeHash(note)",
    'sealed === note',
  ]),

  // After a rotation records stay under the old key.
  ...faults('store/redis/manifest.ts', 'test/conformance/store/redis-config.test.ts', [
    'return kid === ring.sealsWith() ? digest',
    'return kid !== undefined ? digest',
  ]),

  // Announcements are missed silently.
  ...faults('store/redis/follow.ts', 'test/conformance/store/redis-config.test.ts', [
    'const missed = before !== this.#place.generation',
    'const missed = before < 0',
  ]),

  // Every request waits for a server that does not answer.
  ...faults('store/redis/breaker.ts', 'test/conformance/store/redis-dead.test.ts', [
    'this.#timeouts.length < TIMEOUTS',
    'this.#timeouts.length <= TIMEOUTS',
  ]),
  ...faults(
    'store/redis/breaker.ts',
    'store/redis/breaker.test.ts',
    // A server that stood still for a moment is avoided for a second.
    ['this.#probeIn(0, probe)', 'this.#probeIn(LONGEST_WAIT_MS, probe)'],
    // A server that is away is probed ten times a second.
    ['2 * waitMs, ', ''],
    // A probe of before brings the next one after a reset.
    ['if (this.#timer !== timer) return\n', ''],
  ),

  // Writes acknowledged before a server died are never sent again.
  ...faults('store/redis/connection.ts', 'test/conformance/store/redis-dead.test.ts', [
    'if (this.#lost.delete(node)) this.#restored(node)',
    'this.#lost.delete(node)',
  ]),

  // A removed record counts forever as a key that does not exist.
  ...faults('store/redis/manifest.ts', 'test/conformance/store/redis-config.test.ts', [
    'if (sealed === null && note === null)',
    'if (sealed === null)',
  ]),

  // A removed record is never written again.
  ...faults('store/lua/config/differing.lua', 'test/conformance/store/redis-config.test.ts', [
    "if type(sealed) ~= 'string' or redis.sha1hex",
    "if type(sealed) == 'string' and redis.sha1hex",
  ]),

  ...faults(
    'store/redis/keeping.ts',
    'test/conformance/store/redis-keeping.test.ts',
    // A primary that is away hides what the others may evict.
    ['if (error instanceof StoreUnavailable) return undefined\n', ''],
    // Snapshots that fail count as kept.
    ["if (info.get('rdb_last_bgsave_status') === 'err') return 'none'", ''],
    // A server without save points counts as one that saves.
    ["points === '' ? 'none' : 'rdb'", "'rdb'"],
    // A managed Redis that never saves is not noticed.
    ["if (waits && sinceSave > LONGEST_WITHOUT_SAVE_S) return 'none'", ''],
    // An unknown answer counts as a good one.
    ["? 'rdb' : 'unknown'", "? 'rdb' : 'rdb'"],
  ),

  // Of a Cluster only one server is looked at.
  ...faults('store/redis/client.ts', 'test/conformance/store/redis-keeping.test.ts', [
    "cluster.nodes('master').map(",
    "cluster.nodes('master').slice(0, 1).map(",
  ]),

  // Errors of upstreams fill the memory that balances need.
  ...faults('store/redis/state.ts', 'test/conformance/store/redis-log.test.ts', [
    'Math.min(capacity, Math.ceil(LOG_BYTES / mean))',
    'capacity',
  ]),
]
