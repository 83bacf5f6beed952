#!lua
-- Holds an amount if there are enough funds. Without allow-oom, so that a server that is out of memory refuses it.
--
--   KEYS     bal rsv exp gc led of the account: see ledger/common
--   ARGV     1 to 3 as in ledger/common; 4 request id, 5 sub-account or '', 6 amount, 7 '1' if enforced,
--            8 overdraft, 9 overdraft of the sub-account, 10 lease in ms, 11 key id, 12 model
--   Replies  {'OK', reserved at} | {'DUP', reserved at, state} | {'CONFLICT'} | {'NOACCT'}
--            | {'NOFUNDS', 'account' or 'sub', 'empty' or 'hold'}
--!include ledger/common

if not account_known() then return { 'NOACCT' } end
local id, sub, amount, enforced = ARGV[4], ARGV[5], tonumber(ARGV[6]), ARGV[7] == '1'
local overdraft, sub_overdraft, lease_ms = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local now = now_ms()
expire_due(now, AT_ONCE)
collect_due(now, AT_ONCE)

local known = read_hold(id)
if known then
  if known.sub ~= sub or (known.requested and known.requested ~= amount) then return { 'CONFLICT' } end
  return { 'DUP', text(known.reserved_at), known.state }
end
local short = enforced and shortfall(sub, overdraft, sub_overdraft, amount)
if short then return { 'NOFUNDS', short[1], short[2] } end

local held = countable_in_both('h', sub, amount)
add_to_both('h', sub, held)
write_hold(id, {
  state = 'P',
  requested = amount,
  amount = held,
  seen = 0,
  reserved_at = now,
  sub = sub,
  key = ARGV[11],
  model = ARGV[12],
})
redis.call('ZADD', EXP, text(now + lease_ms), id)
return { 'OK', text(now) }
