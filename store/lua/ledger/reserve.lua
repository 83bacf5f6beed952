#!lua
-- Holds an amount if there are enough funds. Without allow-oom, so that a server that is out of memory refuses it.
--
--   KEYS     bal rsv tmb tmb tmb led gc: see ledger/holds
--   ARGV     1 request id, 2 sub-account or '', 3 amount, 4 cost so far, 5 '1' if enforced, 6 overdraft, 7 overdraft of the
--            sub-account, 8 lease in ms, 9 note of the entry if the hold expires, 10 ids of the meters that count live holds,
--            with commas, 11 its budgets: see ledger/budgets; from 12 on its meters: see ledger/meters
--   Replies  {'OK' or 'DUP', reserved at, free, the balance, that of the sub-account if there is one, what is spent in each
--            budget, how full each meter is} | {'OVER'} | {'CONFLICT'} | {'NOACCT'}
--            | {'NOFUNDS', 'account' or 'sub', 'empty' or 'hold'} | {'NOFUNDS', 'budget', 'empty' or 'hold', budget}
--            | {'LIMITED', meter, wait in ms, how full each meter is}
--!include ledger/account
--!include ledger/budgets
--!include ledger/holds
--!include ledger/meters

local id, sub, amount = ARGV[1], ARGV[2], tonumber(ARGV[3])
local payer = {
  sub = sub,
  enforced = ARGV[5] == '1',
  overdraft = tonumber(ARGV[6]),
  sub_overdraft = tonumber(ARGV[7]),
}
budgets_given = ARGV[11]

local running, has_meters = ARGV[10], #ARGV > 11
local of_budgets = budgets_given == '' and '' or budgets().ids()

local names = { 'p', 'h', 'x', 'tb', 'cl' }
if sub ~= '' then
  names[6], names[7] = 'p:' .. sub, 'h:' .. sub
end
for at = 12, #ARGV, 4 do
  names[#names + 1] = ARGV[at]
end
if of_budgets ~= '' then budgets().add_fields(names, of_budgets) end
load_fields(names)
if not field('p') or field('cl') == '1' then return { 'NOACCT' } end
local now = now_ms()
expire_due(now, EXPIRED_AT_ONCE)
local levels, full, wait
if has_meters then
  levels, full, wait = read_meters(12, now)
end

-- The reply of a request that is held since `at`.
local function granted(word, at)
  local posted, sub_posted = number('p'), sub ~= '' and number('p:' .. sub)
  local free = MOST
  if payer.enforced then free = posted - number('h') + payer.overdraft end
  if payer.enforced and sub_posted then
    free = math.min(free, sub_posted - number('h:' .. sub) + payer.sub_overdraft)
  end
  local reply = { word, at, free, text(posted) }
  if sub_posted then reply[5] = text(sub_posted) end
  if of_budgets ~= '' then budgets().add_left(reply, now) end
  reply[3] = text(math.max(math.min(reply[3], MOST), -MOST))
  return done(levels and add_levels(reply, levels) or reply)
end

if tombstone(id, now, true) then return done({ 'OVER' }) end
local held = countable_in_both('h', sub, amount)
local lease_end = now + tonumber(ARGV[8])
local stored = string.format(
  'H|%s|%s|%s||%d|%d|%s|%s',
  ARGV[3],
  held == amount and ARGV[3] or text(held),
  ARGV[4],
  lease_end,
  now,
  with_counters(sub, running, of_budgets),
  ARGV[9]
)
if redis.call('HSETNX', RSV, id, stored) == 0 then
  local known = parse_live(redis.call('HGET', RSV, id))
  if not known then return done({ 'OVER' }) end
  if known.sub ~= sub or (known.requested ~= '' and known.requested ~= ARGV[3]) then return done({ 'CONFLICT' }) end
  return granted('DUP', tonumber(known.at))
end
local short = shortfall(payer, amount, now)
if short then
  redis.call('HDEL', RSV, id)
  return done({ 'NOFUNDS', unpack(short) })
end
if full then
  redis.call('HDEL', RSV, id)
  return done(add_levels({ 'LIMITED', full, wait }, levels))
end
if levels then
  fill_meters(12, levels, now)
  add_running(running, 1)
end
add_to_both('h', sub, held)
if of_budgets ~= '' then budgets().hold(of_budgets, held, now, true) end
lease_until(lease_end)
return granted('OK', now)
