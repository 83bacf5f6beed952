#!lua flags=allow-oom
-- Extends the leases of holds, records their cost so far, and may enlarge them. A hold that was lost or has expired is taken
-- again, whatever the funds.
--
--   KEYS     bal rsv tmb tmb tmb led gc: see ledger/holds
--   ARGV     for each hold twelve: request id, sub-account or '', size of the hold, cost so far, '1' if enforced, overdraft,
--            overdraft of the sub-account, lease in ms, reserved at, note of the entry if the hold expires, ids of
--            the meters that count it, with commas, its budgets: see ledger/budgets
--   Replies  for each hold 'OK' | 'NOFUNDS': the lease is extended, but not the hold | 'AGAIN' | 'GONE' | 'NOACCT'
--!include ledger/account
--!include ledger/budgets
--!include ledger/holds

load_fields({ 'p', 'h', 'x', 'tb' })
local now = now_ms()

local function take_again(id, hold)
  hold.amount = countable_in_both('h', hold.sub, hold.amount)
  add_to_both('h', hold.sub, hold.amount)
  redis.call('HSET', RSV, id, format_live(hold))
  add_running(hold.running, 1)
  if hold.budgets ~= '' then budgets().hold(hold.budgets, hold.amount, now, true) end
  lease_until(hold.lease_end)
  return 'AGAIN'
end

local function renew(at)
  local id, sub, amount, seen = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local lease_end, note = now + tonumber(ARGV[at + 7]), ARGV[at + 9]
  -- The budgets of the one before are written by now, as fields.
  budgets_given, budgets_opened = ARGV[at + 11], nil
  local again = {
    requested = '',
    amount = amount,
    seen = seen,
    lease_end = lease_end,
    at = ARGV[at + 8],
    sub = sub,
    running = ARGV[at + 10],
    budgets = budgets_given == '' and '' or budgets().ids(),
    note = note,
  }
  local stored = redis.call('HGET', RSV, id)
  local hold = stored and parse_live(stored)
  if not hold then
    if stored then
      again.paid, again.sub = parse_expired(stored)
      again.seen = math.max(seen, again.paid)
      redis.call('ZREM', GC, id)
    elseif tombstone(id, now, false) then
      return 'GONE'
    end
    return take_again(id, again)
  end

  local extra = math.max(0, amount - hold.amount)
  local payer = {
    sub = hold.sub,
    enforced = ARGV[at + 4] == '1',
    overdraft = tonumber(ARGV[at + 5]),
    sub_overdraft = tonumber(ARGV[at + 6]),
  }
  local refused = extra > 0 and shortfall(payer, extra, now) ~= nil
  if not refused then
    local added = countable_in_both('h', hold.sub, extra)
    add_to_both('h', hold.sub, added)
    if added > 0 and hold.budgets ~= '' then budgets().hold(hold.budgets, added, now) end
    hold.amount = hold.amount + added
  end
  if seen >= hold.seen then hold.seen, hold.note = seen, note end
  hold.lease_end = math.max(hold.lease_end, lease_end)
  redis.call('HSET', RSV, id, format_live(hold))
  return refused and 'NOFUNDS' or 'OK'
end

local replies = {}
for at = 1, #ARGV, 12 do
  replies[#replies + 1] = field('p') and renew(at) or 'NOACCT'
end
return done(replies)
