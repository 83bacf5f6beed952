-- What the scripts of the ledger share; each includes it. They do what store/ledger/transition.ts says, on one account:
--
--   KEYS[1]  bal  hash: p and h, posted and held; p:<sub> and h:<sub>; c:<credit id> = "<sub>|<amount>"
--   KEYS[2]  rsv  hash: request id = hold, pending or at its end (see read_hold)
--   KEYS[3]  exp  sorted set: request id by the end of its lease, in ms
--   KEYS[4]  gc   sorted set: request id by the end of its tombstone, in ms
--   KEYS[5]  led  stream: entries, with the fields k r s d, and of a request also reason model channel key tok
--   ARGV[1]  how long the end of a hold is kept, in ms
--   ARGV[2]  due leases, and due tombstones, that a command takes care of in passing, at most
--   ARGV[3]  entries that an account keeps, at least
--
-- Replies: amounts and times are text, because Redis makes 64-bit integers of Lua's numbers and clients round those.
-- An account is known when bal has p.

local BAL, RSV, EXP, GC, LED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local KEEP_MS, AT_ONCE, ENTRIES_KEPT = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
-- 2^53 - 1: integers up to it are exact in a double, which is all that Lua has.
local MOST = 9007199254740991

-- Digits of an integer. tostring would write 1e+15; and HINCRBY refuses "-0", so that -0 is made 0.
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

-- Of 'p' or 'h', for a sub-account or ('') the account itself.
local function field_of(field, sub)
  if sub == '' then return field end
  return field .. ':' .. sub
end

local function funds(field, sub)
  return tonumber(redis.call('HGET', BAL, field_of(field, sub)) or '0')
end

-- The part of `by` that leaves one balance within the safe integers.
local function countable(field, sub, by)
  local now = funds(field, sub)
  return math.min(math.max(by, -MOST - now), MOST - now)
end

-- The part of `by` that account and sub-account can both take, so that they change alike.
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

-- `note`: more fields and values, as a list.
local function append(kind, ref, sub, delta, note)
  redis.call('XADD', LED, 'MAXLEN', '~', ENTRIES_KEPT, '*',
    'k', kind, 'r', ref, 's', sub, 'd', text(delta), unpack(note))
end

-- The first of four tests that fails, as {whose, why}; nil when funds suffice. Lasting want is told before want that
-- ends when others settle.
local function shortfall(sub, overdraft, sub_overdraft, amount)
  local function want(of, allowed)
    local posted = funds('p', of)
    return posted + allowed <= 0, posted - funds('h', of) + allowed < amount
  end
  local account_empty, account_short = want('', overdraft)
  local sub_empty, sub_short = false, false
  if sub ~= '' then sub_empty, sub_short = want(sub, sub_overdraft) end
  if account_empty then return { 'account', 'empty' } end
  if sub_empty then return { 'sub', 'empty' } end
  if account_short then return { 'account', 'hold' } end
  if sub_short then return { 'sub', 'hold' } end
  return nil
end

-- A hold is "state|asked|amount|seen|actual|reserved at|sub|key|model": see Hold in store/ledger/state.ts. asked and
-- actual may be empty for not known. Key and model are those of the entry of an expiry, so only a pending hold has
-- them; the model is the only field that may have a bar in it.
local HOLD = '^(%u)|(%d*)|(%d+)|(%d+)|(%d*)|(%-?%d+)|([^|]*)|([^|]*)|(.*)$'

local function read_hold(id)
  local stored = redis.call('HGET', RSV, id)
  if not stored then return nil end
  local state, asked, amount, seen, actual, at, sub, key, model = string.match(stored, HOLD)
  return {
    state = state,
    asked = tonumber(asked),
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
    hold.asked and text(hold.asked) or '',
    text(hold.amount),
    text(hold.seen),
    hold.actual and text(hold.actual) or '',
    text(hold.reserved_at),
    hold.sub,
    hold.key,
    hold.model,
  }, '|'))
end

-- Keeps the end of a hold; counted from its reservation where a clock that was set back says that is later.
local function entomb(id, hold, state, now)
  hold.state, hold.key, hold.model = state, '', ''
  write_hold(id, hold)
  redis.call('ZADD', GC, text(math.max(now, hold.reserved_at) + KEEP_MS), id)
end

-- Gives back what a pending hold holds.
local function release(id, hold)
  add_to_both('h', hold.sub, 0 - hold.amount)
  redis.call('ZREM', EXP, id)
end

-- Lowers the account and its sub-account together; one entry for one change, none for no change. Of a cost that would
-- take a balance out of the safe integers it posts what still counts: a settle is never refused.
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

-- Expires holds whose lease has passed and posts what was seen of each: a list of id, charged, id, charged, ...
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

-- Forgets tombstones whose time is over. One millisecond later than kept: an id that is forgotten must be too old for
-- settle to take it for a lost one, or it would be posted twice.
local function collect_due(now, max)
  for _, id in ipairs(due(GC, now - 1, max)) do
    redis.call('HDEL', RSV, id)
    redis.call('ZREM', GC, id)
  end
end
