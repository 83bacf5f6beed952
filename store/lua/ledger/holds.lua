-- Holds of one account; included by the scripts on holds, after ledger/account and ledger/budgets. They do what store/ledger/reserve.ts, renew.ts, settle.ts and
-- expiry.ts do.
--
--   KEYS[1]       bal  hash: see ledger/account
--   KEYS[2]       rsv  hash: request id = a live or an expired hold (below)
--   KEYS[3 to 5]  tmb  hashes: request id = cost@entry of a settled request; bucket number b is in KEYS[3 + b % 3]
--   KEYS[6]       led  stream: see ledger/account
--   KEYS[7]       gc   sorted set: ids of expired holds by the time until which they are kept, in ms

local RSV, LED, GC = KEYS[2], KEYS[6], KEYS[7]
local KEEP_MS, RECENT_MS, EXPIRED_KEEP_MS, EXPIRED_AT_ONCE = 900000, 60000, 86400000, 20
local MOST_SET_BACK_MS, MOST_LEASE_MS = 3600000, 30000

local function countable_in_both(sum, sub, by)
  local part = countable(sum, '', by)
  if sub == '' then return part end
  return countable(sum, sub, part)
end

local function add_to_both(sum, sub, by)
  add(sum, '', by)
  if sub ~= '' then add(sum, sub, by) end
end

-- Why funds are short, as {whose, reason, budget}, or nil. What is used up comes before a shortfall that other settles may
-- clear. `payer`: sub, enforced, overdraft and sub_overdraft; budgets are those of the command.
local function shortfall(payer, amount, now)
  local sub = payer.sub
  local posted, sub_posted = payer.enforced and number('p'), payer.enforced and sub ~= '' and number('p:' .. sub)
  if posted and posted + payer.overdraft <= 0 then return { 'account', 'empty' } end
  if sub_posted and sub_posted + payer.sub_overdraft <= 0 then return { 'sub', 'empty' } end
  local budget, reason
  if budgets_given ~= '' then
    budget, reason = budgets().short(amount, now)
  end
  if reason == 'empty' then return { 'budget', reason, budget } end
  if posted and posted - number('h') + payer.overdraft < amount then return { 'account', 'hold' } end
  if sub_posted and sub_posted - number('h:' .. sub) + payer.sub_overdraft < amount then return { 'sub', 'hold' } end
  return budget and { 'budget', reason, budget } or nil
end

-- A live hold is "H|requested|amount|seen|paid|end of lease|reserved at|sub|note"; requested and paid may be empty. If meters or
-- budgets count it, sub is "sub~meter,meter~budget,budget". An expired one is "E|charged|sub".
local LIVE = '^H|(%d*)|(%d+)|(%d+)|(%d*)|(%d+)|(%-?%d+)|([^|]*)|(.*)$'

local function parse_live(stored)
  local requested, amount, seen, paid, lease_end, at, sub, note = string.match(stored, LIVE)
  if not amount then return nil end
  local own, running, of_budgets
  if sub ~= '' then
    own, running, of_budgets = string.match(sub, '^([^~]*)~([^~]*)~?(.*)$')
  end
  return {
    requested = requested,
    amount = tonumber(amount),
    seen = tonumber(seen),
    paid = tonumber(paid),
    lease_end = tonumber(lease_end),
    at = at,
    sub = own or sub,
    running = running or '',
    budgets = of_budgets or '',
    note = note,
  }
end

local function with_counters(sub, running, of_budgets)
  if of_budgets ~= '' then return sub .. '~' .. running .. '~' .. of_budgets end
  if running == '' then return sub end
  return sub .. '~' .. running
end

-- Counts a hold in its meters ("meter,meter"), or with -1 no longer.
local function add_running(running, by)
  for id in string.gmatch(running, '[^,]+') do
    set('r:' .. id, math.max(0, number('r:' .. id) + by))
  end
end

local function format_live(hold)
  return string.format(
    'H|%s|%d|%d|%s|%d|%s|%s|%s',
    hold.requested,
    hold.amount,
    hold.seen,
    hold.paid and text(hold.paid) or '',
    hold.lease_end,
    hold.at,
    with_counters(hold.sub, hold.running, hold.budgets),
    hold.note
  )
end

local function parse_expired(stored)
  local charged, sub = string.match(stored, '^E|(%d+)|(.*)$')
  return tonumber(charged), sub
end

local function lease_until(lease_end)
  local first = tonumber(field('x') or '')
  if not first or lease_end < first then set('x', lease_end) end
end

-- Posts what is due for a hold, with one entry; returns the entry's id. A cost that would take a balance beyond the safe
-- integers is posted in part: a settle is never refused. `of_budgets`: ids of those to charge, or ''.
local function charge(kind, id, sub, amount, note, of_budgets, now)
  local delta = countable_in_both('p', sub, 0 - amount)
  add_to_both('p', sub, delta)
  if of_budgets ~= '' then budgets().charge(of_budgets, 0 - delta, now, kind ~= 'expire') end
  return append(LED, kind, id, sub, delta, note)
end

local function remove(id, hold, now)
  add_to_both('h', hold.sub, 0 - hold.amount)
  add_running(hold.running, -1)
  if hold.budgets ~= '' then budgets().hold(hold.budgets, 0 - hold.amount, now) end
  redis.call('HDEL', RSV, id)
end

local function bucket_at(now)
  return math.max(math.floor(now / KEEP_MS), number('tb'))
end

local function bucket_key(bucket)
  return KEYS[3 + bucket % 3]
end

-- Drops the buckets that are not read once `bucket` is the current one.
local function drop_before(bucket)
  local newest = number('tb')
  for old = newest - 2, math.min(newest, bucket - 2) do
    -- Frees it in the background. One may have a million requests, for which Redis would stand still for a second.
    local reply = redis.pcall('UNLINK', bucket_key(old))
    -- A user with an older ACL may not run it.
    if type(reply) == 'table' then redis.call('DEL', bucket_key(old)) end
  end
end

-- What is known of a settled request, or false. The bucket before the current one is in use if there are newer ones than it.
local function tombstone(id, now, recent_only)
  local bucket, newest = bucket_at(now), number('tb')
  local found = bucket == newest and redis.call('HGET', bucket_key(bucket), id)
  if found or bucket - 1 > newest then return found end
  if recent_only and now - bucket * KEEP_MS >= RECENT_MS then return found end
  return redis.call('HGET', bucket_key(bucket - 1), id)
end

local function cost_text(actual, sub)
  if sub == '' then return text(actual) end
  return text(actual) .. '|' .. sub
end

local function time_of(entry)
  return tonumber(string.match(entry, '^%d+'))
end

-- Remembers a settled id, from the time of its entry on; returns that time, in ms.
local function entomb(id, sub, actual, entry, reserved_at)
  local entry_ms = time_of(entry)
  -- Without this, the entry would be searched for where only later ones are. Bounded, because a caller may be wrong by hours.
  if reserved_at > entry_ms then set('sb', math.max(number('sb'), math.min(reserved_at - entry_ms, MOST_SET_BACK_MS))) end
  local bucket, newest = bucket_at(entry_ms), number('tb')
  local key = bucket_key(bucket)
  if bucket ~= newest then
    drop_before(bucket)
    set('tb', bucket)
  end
  redis.call('HSET', key, id, cost_text(actual, sub) .. '@' .. entry)
  -- For a bucket that neither a later one nor a leader drops. Redis may free it in the foreground.
  if bucket ~= newest then redis.call('PEXPIRE', key, 4 * KEEP_MS) end
  return entry_ms
end

-- Expires at most `max` holds whose lease has ended, the earliest first, and charges their cost so far. Returns {id, charged,
-- id, charged, ...}.
local function expire_due(now, max)
  local reaped = {}
  local first = tonumber(field('x') or '')
  if not first or now < first then return reaped end
  local due, next_end = {}, nil
  local all = redis.call('HGETALL', RSV)
  for i = 1, #all, 2 do
    local lease_end = tonumber(string.match(all[i + 1], '^H|%d*|%d+|%d+|%d*|(%d+)|'))
    if lease_end and lease_end <= now then
      due[#due + 1] = { id = all[i], lease_end = lease_end, stored = all[i + 1] }
    elseif lease_end and (not next_end or lease_end < next_end) then
      next_end = lease_end
    end
  end
  table.sort(due, function(a, b)
    if a.lease_end ~= b.lease_end then return a.lease_end < b.lease_end end
    return a.id < b.id
  end)
  -- Holds that came back with an older copy of the store, and that no proxy has renewed since: the restored sums count them.
  local restored_until = field('ra') and time_of(field('ra')) + MOST_LEASE_MS or -1
  for i = 1, math.min(max, #due) do
    local id, hold = due[i].id, parse_live(due[i].stored)
    if hold.lease_end <= restored_until then hold.seen = hold.paid or 0 end
    local charged = hold.seen - (hold.paid or 0)
    remove(id, hold, now)
    charge('expire', id, hold.sub, charged, hold.note, hold.budgets, now)
    redis.call('HSET', RSV, id, 'E|' .. text(hold.seen) .. '|' .. hold.sub)
    redis.call('ZADD', GC, math.max(now, tonumber(hold.at)) + EXPIRED_KEEP_MS, id)
    reaped[#reaped + 1] = id
    reaped[#reaped + 1] = text(charged)
  end
  if #due > max then next_end = due[max + 1].lease_end end
  set('x', next_end or '')
  return reaped
end
