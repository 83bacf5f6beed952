#!lua
-- Applies a credit, once per id. Without allow-oom: the controller retries it when there is memory.
--
--   KEYS     bal crd led: see ledger/credits
--   ARGV     1 epoch, 2 credit id, 3 sub-account or '', 4 amount
--   Replies  {'OK', entry} | {'DUP'} | {'CONFLICT'} | {'LIMIT'}: the balance would exceed the safe integers | {'FENCED'}
--            | {'NOACCT'}
--!include ledger/account
--!include ledger/credits

local id, sub, amount = ARGV[2], ARGV[3], tonumber(ARGV[4])
local credit = sub .. '|' .. text(amount)

load_fields({ 'p', 'cr', 'ep', 'n', 'c:' .. id })
if not field('p') then return { 'NOACCT' } end
local epoch = tonumber(ARGV[1])
if is_fenced(epoch) then return { 'FENCED' } end
migrate()
local previous = field('c:' .. id)
if previous then adopt(id, previous) end
local known = redis.call('HGET', CRD, id)
if known then return done({ known == credit and 'DUP' or 'CONFLICT' }) end
if not is_countable(sub, amount, amount) then return done({ 'LIMIT' }) end

redis.call('HSET', CRD, id, credit)
set('ep', epoch)
set('c:' .. id, credit)
-- An allowance raises only the sub-account: it adds no money to the account.
add('p', sub, amount)
add('cr', sub, amount)
return done({ 'OK', append(LED, 'credit', id, sub, amount, '') })
