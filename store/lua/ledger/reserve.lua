#!lua
-- Holds an amount if there are enough funds. Without allow-oom, so that a server that is out of memory refuses it.
--
--   KEYS     bal rsv tmb tmb tmb led gc: see ledger/holds
--   ARGV     1 request id, 2 sub-account or '', 3 amount, 4 cost so far, 5 '1' if enforced, 6 overdraft, 7 overdraft of the
--            sub-account, 8 lease in ms, 9 note of the entry if the hold expires, 10 ids of the meters that count live holds,
--            with commas; from 11 on its meters: see ledger/meters
--   Replies  {'OK' or 'DUP', reserved at, free funds, room} | {'OVER'} | {'CONFLICT'} | {'NOACCT'}
--            | {'NOFUNDS', 'account' or 'sub', 'empty' or 'hold'} | {'LIMITED', meter, wait in ms, room}
--!include ledger/account
--!include ledger/holds
--!include ledger/meters

local id, sub, amount = ARGV[1], ARGV[2], tonumber(ARGV[3])
local overdraft, sub_overdraft = tonumber(ARGV[6]), tonumber(ARGV[7])

local running, meters = ARGV[10], #ARGV > 10 and open_meters(11)

if sub == '' and not meters then
  load_fields('p', 'h', 'x', 'tb', 'cl')
else
  local names = { 'p', 'h', 'x', 'tb', 'cl' }
  if sub ~= '' then
    names[6], names[7] = 'p:' .. sub, 'h:' .. sub
  end
  if meters then meters.add_fields(names) end
  load_fields(unpack(names))
end
if not field('p') or field('cl') == '1' then return { 'NOACCT' } end
local now = now_ms()
expire_due(now, EXPIRED_AT_ONCE)

local function free_funds()
  local free = number('p') - number('h') + overdraft
  if sub ~= '' then free = math.min(free, number('p:' .. sub) - number('h:' .. sub) + sub_overdraft) end
  return text(math.min(math.max(free, -MOST), MOST))
end

if tombstone(id, now, true) then return done({ 'OVER' }) end
local held = countable_in_both('h', sub, amount)
local lease_end = now + tonumber(ARGV[8])
local stored = string.format(
  'H|%s|%s|%s||%.0f|%.0f|%s|%s',
  ARGV[3],
  held == amount and ARGV[3] or text(held),
  ARGV[4],
  lease_end,
  now,
  with_running(sub, running),
  ARGV[9]
)
if redis.call('HSETNX', RSV, id, stored) == 0 then
  local known = parse_live(redis.call('HGET', RSV, id))
  if not known then return done({ 'OVER' }) end
  if known.sub ~= sub or (known.requested ~= '' and known.requested ~= ARGV[3]) then return done({ 'CONFLICT' }) end
  return done({ 'DUP', known.at, free_funds(), meters and meters.room(now) or '' })
end
local short = ARGV[5] == '1' and shortfall(sub, overdraft, sub_overdraft, amount)
if short then
  redis.call('HDEL', RSV, id)
  return done({ 'NOFUNDS', short[1], short[2] })
end
if meters then
  local full, wait = meters.full(now)
  if full then
    redis.call('HDEL', RSV, id)
    return done({ 'LIMITED', text(full), text(wait), meters.room(now) })
  end
  meters.take(now)
  add_running(running, 1)
end
add_to_both('h', sub, held)
lease_until(lease_end)
return done({ 'OK', text(now), free_funds(), meters and meters.room(now) or '' })
