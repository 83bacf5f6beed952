/** Faults of the store. */
import { faults, type Mutant } from '../fault.ts'

const CONFORMANCE = 'test/conformance/store/embedded.test.ts'
const REDIS_LEDGER = 'test/conformance/store/redis-ledger.test.ts'

export const STORE: Mutant[] = [
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
    'store/ledger/transition.ts',
    CONFORMANCE,
    // An account without money starts free requests.
    ['posted + overdraft <= 0', 'posted + overdraft < 0'],
    // Parallel requests spend the same money.
    ['posted - held + overdraft < amount', 'posted + overdraft < amount'],
    // A credit counts again on each start.
    ['draft.credit(id, { sub, amount })', ''],
    // A settle that is sent twice is charged twice.
    ["entomb(draft, id, { ...hold, state: actual === 0 ? 'V' : 'S', actual }, nowMs)", ''],
    // Holds of a dead proxy block the account until the next reap.
    ['expireDue(state, draft, nowMs, REAPED_AT_ONCE)', ''],
    // The late settle charges again what the expiry charged.
    ['amount: actual - hold.seen', 'amount: actual'],
    // A request whose hold was lost is never paid.
    ["charge(draft, { kind: 'lost', ref: id, sub, amount: actual, note })", ''],
  ),

  ...faults(
    'store/lua/ledger/common.lua',
    REDIS_LEDGER,
    // Amounts of a million dollars lose their last digits.
    ["string.format('%.0f', n + 0)", 'tostring(n + 0)'],
    // Parallel requests spend the same money.
    ["posted - funds('h', of) + allowed < amount", 'posted + allowed < amount'],
    // A settle repeated just when its hold is forgotten is charged twice.
    ['due(GC, now - 1, max)', 'due(GC, now, max)'],
  ),

  // A server without memory admits requests that it may not be able to account for.
  ...faults('store/lua/ledger/reserve.lua', REDIS_LEDGER, ['#!lua', '#!lua flags=allow-oom']),

  // A server without memory charges nothing for admitted requests.
  ...faults('store/lua/ledger/settle.lua', REDIS_LEDGER, ['#!lua flags=allow-oom', '#!lua']),

  // A credit counts again on each start.
  ...faults('store/lua/ledger/topup.lua', REDIS_LEDGER, ["redis.call('HSET', BAL, 'c:' .. id, credit)", '']),

  // Holds of dead proxies stay on an account that has more than its share of them.
  ...faults('store/redis/ledger.ts', 'store/redis/ledger.test.ts', [
    'result.value.length === share',
    'false',
  ]),

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

  // Errors of upstreams fill the memory that balances need.
  ...faults('store/redis/state.ts', 'test/conformance/store/redis-log.test.ts', [
    'Math.min(logCapacity, Math.ceil(LOG_BYTES / mean))',
    'logCapacity',
  ]),
]
