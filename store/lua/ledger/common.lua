-- Functions for the ledger, included by its scripts. They implement store/ledger/transition.ts on one account:
--
--   KEYS[1]  bal  hash: p and h, posted and held; p:<sub> and h:<sub>; c:<credit id> = "<sub>|<amount>"
--   KEYS[2]  rsv  hash: request id = hold, pending or a tombstone (see read_hold)
--   KEYS[3]  exp  sorted set: request id by the end of its lease, in ms
--   KEYS[4]  gc   sorted set: request id by the end of its tombstone, in ms
--   KEYS[5]  led  stream: entries, with the fields k r s d, and for a request also reason model channel key tok
--   ARGV[1]  how long a tombstone is kept, in ms
--   ARGV[2]  how many due leases, and how many due tombstones, a command handles along the way, at most
--   ARGV[3]  minimum number of entries that an account keeps
--
-- Amounts and times in replies are text: Redis turns Lua's numbers into 64-bit integers, which clients round. An account
-- exists if bal has p.

local BAL, RSV, EXP, GC, LED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local KEEP_MS, AT_ONCE, ENTRIES_KEPT = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
-- 2^53 - 1: Lua's numbers are doubles, exact for integers up to this.
local MOST = 9007199254740991

-- An integer in digits. tostring would write 1e+15. Turns -0 into 0, because HINCRBY refuses "-0".
local function text(n)
  return string.format('%.0f', n + 0)
end

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function account_known()
  return redis.call('HEXISTS', BAL, 'p') == 1
end

-- The field 'p' or 'h' of a sub-account, or (sub '') of the account itself.
local function field_of(field, sub)
  if sub == '' then return field end
  return field .. ':' .. sub
end

local function funds(field, sub)
  return tonumber(redis.call('HGET', BAL, field_of(field, sub)) or '0')
end

-- The part of `by` that keeps one balance within the safe integers.
local function countable(field, sub, by)
  local now = funds(field, sub)
  return math.min(math.max(by, -MOST - now), MOST - now)
end

-- The part of `by` that both account and sub-account can count, so that they change by the same amount.
local function countable_in_both(field, sub, by)
  local part = countable(field, '', by)
  if sub == '' then return part end
  return countable(field, sub, part)
end

local function add(field, sub, by)
  if by ~= 0 then redis.call('HINCRBY', BAL, field_of(field, sub), text(by)) end
end

local function add_to_both(field, sub, by)
  add(field, '', by)
  if sub ~= '' then add(field, sub, by) end
end

-- `note`: a list of further fields and values.
local function append(kind, ref, sub, delta, note)
  redis.call('XADD', LED, 'MAXLEN', '~', ENTRIES_KEPT, '*',
    'k', kind, 'r', ref, 's', sub, 'd', text(delta), unpack(note))
end

-- Why funds are short, as {whose, reason}, or nil. An empty balance comes before a shortfall that other settles may clear.
local function shortfall(sub, overdraft, sub_overdraft, amount)
  local function check(of, allowed)
    local posted = funds('p', of)
    return posted + allowed <= 0, posted - funds('h', of) + allowed < amount
  end
  local account_empty, account_short = check('', overdraft)
  local sub_empty, sub_short = false, false
  if sub ~= '' then sub_empty, sub_short = check(sub, sub_overdraft) end
  if account_empty then return { 'account', 'empty' } end
  if sub_empty then return { 'sub', 'empty' } end
  if account_short then return { 'account', 'hold' } end
  if sub_short then return { 'sub', 'hold' } end
  return nil
end

-- A hold is "state|requested|amount|seen|actual|reserved at|sub|key|model": see Hold in store/ledger/state.ts. requested
-- and actual are empty if unknown. Key and model are for the entry of an expiry, so that only a pending hold has them;
-- only the model may contain a bar.
local HOLD = '^(%u)|(%d*)|(%d+)|(%d+)|(%d*)|(%-?%d+)|([^|]*)|([^|]*)|(.*)$'

local function read_hold(id)
  local stored = redis.call('HGET', RSV, id)
  if not stored then return nil end
  local state, requested, amount, seen, actual, at, sub, key, model = string.match(stored, HOLD)
  return {
    state = state,
    requested = tonumber(requested),
    amount = tonumber(amount),
    seen = tonumber(seen),
    actual = tonumber(actual),
    reserved_at = tonumber(at),
    sub = sub,
    key = key,
    model = model,
  }
end

local function write_hold(id, hold)
  redis.call('HSET', RSV, id, table.concat({
    hold.state,
    hold.requested and text(hold.requested) or '',
    text(hold.amount),
    text(hold.seen),
    hold.actual and text(hold.actual) or '',
    text(hold.reserved_at),
    hold.sub,
    hold.key,
    hold.model,
  }, '|'))
end

-- Keeps a tombstone of a hold. Its time starts at the reservation if that is later, because the clock was set back.
local function entomb(id, hold, state, now)
  hold.state, hold.key, hold.model = state, '', ''
  write_hold(id, hold)
  redis.call('ZADD', GC, text(math.max(now, hold.reserved_at) + KEEP_MS), id)
end

-- Releases a pending hold.
local function release(id, hold)
  add_to_both('h', hold.sub, 0 - hold.amount)
  redis.call('ZREM', EXP, id)
end

-- Charges the account and its sub-account, with one entry, or none if nothing changes. A cost that would take a balance
-- beyond the safe integers is posted in part: a settle is never refused.
local function charge(kind, id, sub, amount, note)
  local delta = countable_in_both('p', sub, 0 - amount)
  if delta == 0 then return end
  add_to_both('p', sub, delta)
  append(kind, id, sub, delta, note)
end

-- The first `max` ids of a sorted set that are due at `at` or before.
local function due(key, at, max)
  return redis.call('ZRANGE', key, '-inf', text(at), 'BYSCORE', 'LIMIT', '0', text(max))
end

-- Expires holds whose lease has ended and charges their cost so far. Returns {id, charged, id, charged, ...}.
local function expire_due(now, max)
  local reaped = {}
  for _, id in ipairs(due(EXP, now, max)) do
    local hold = read_hold(id)
    if hold then
      local note = { 'reason', 'checkpoint', 'model', hold.model, 'channel', '', 'key', hold.key, 'tok', '{}' }
      release(id, hold)
      charge('expire', id, hold.sub, hold.seen, note)
      entomb(id, hold, 'E', now)
      reaped[#reaped + 1] = id
      reaped[#reaped + 1] = text(hold.seen)
    end
  end
  return reaped
end

-- Removes tombstones whose time is over, one millisecond late: once an id is forgotten, it must be too old for settle to
-- treat it as lost. Otherwise it would be charged twice.
local function collect_due(now, max)
  for _, id in ipairs(due(GC, now - 1, max)) do
    redis.call('HDEL', RSV, id)
    redis.call('ZREM', GC, id)
  end
end
