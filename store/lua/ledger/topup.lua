#!lua
-- Applies a credit, once per id. Without allow-oom: the controller retries it when there is memory.
--
--   KEYS     bal rsv exp gc led of the account: see ledger/common
--   ARGV     1 to 3 as in ledger/common; 4 credit id, 5 sub-account or '', 6 amount
--   Replies  'OK' | 'DUP' | 'CONFLICT' | 'LIMIT': the balance would exceed the safe integers | 'NOACCT'
--!include ledger/common

if not account_known() then return 'NOACCT' end
local id, sub, amount = ARGV[4], ARGV[5], tonumber(ARGV[6])
local credit = sub .. '|' .. text(amount)

local known = redis.call('HGET', BAL, 'c:' .. id)
if known then return known == credit and 'DUP' or 'CONFLICT' end
if countable('p', sub, amount) ~= amount then return 'LIMIT' end

redis.call('HSET', BAL, 'c:' .. id, credit)
-- An allowance raises only the sub-account: it adds no money to the account.
add('p', sub, amount)
if amount ~= 0 then append('credit', id, sub, amount, {}) end
return 'OK'
