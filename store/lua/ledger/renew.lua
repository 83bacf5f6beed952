#!lua flags=allow-oom
-- Extends the lease of a hold, records the cost so far, and may enlarge the hold.
--
--   KEYS     bal rsv exp gc led of the account: see ledger/common
--   ARGV     1 to 3 as in ledger/common; 4 request id, 5 cost so far, 6 new size of the hold, 7 '1' if enforced,
--            8 overdraft, 9 overdraft of the sub-account, 10 lease in ms
--   Replies  'OK' | 'NOFUNDS': the lease is extended, but not the hold | 'GONE' | 'UNKNOWN' | 'NOACCT'
--!include ledger/common

if not account_known() then return 'NOACCT' end
local id, seen, amount, enforced = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7] == '1'
local overdraft, sub_overdraft, lease_ms = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local now = now_ms()

local hold = read_hold(id)
if not hold then return 'UNKNOWN' end
if hold.state ~= 'P' then return 'GONE' end

local extra = math.max(0, amount - hold.amount)
local refused = extra > 0 and enforced and shortfall(hold.sub, overdraft, sub_overdraft, extra) ~= nil
if not refused then
  local added = countable_in_both('h', hold.sub, extra)
  add_to_both('h', hold.sub, added)
  hold.amount = hold.amount + added
end
hold.seen = math.max(hold.seen, seen)
write_hold(id, hold)
redis.call('ZADD', EXP, 'GT', text(now + lease_ms), id)
return refused and 'NOFUNDS' or 'OK'
