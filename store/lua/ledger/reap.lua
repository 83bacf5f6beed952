#!lua flags=allow-oom
-- Expires holds whose lease has ended, and forgets expired ones and settled requests whose time is over.
--
--   KEYS     bal rsv tmb tmb tmb led gc: see ledger/holds; 8 exp: see ledger/previous
--   ARGV     1 maximum number of holds, and of expired ones
--   Replies  {id, charged, id, charged, ...}: the expired holds, earliest first
--!include ledger/account
--!include ledger/budgets
--!include ledger/holds
--!include ledger/previous

local max = tonumber(ARGV[1])
load_fields({ 'p', 'h', 'x', 'n', 'tb' })
if not field('p') then return {} end
local now = now_ms()
local reaped = expire_due(now, max)
expire_previous(now, max, reaped)
for _, id in ipairs(redis.call('ZRANGE', GC, '-inf', text(now), 'BYSCORE', 'LIMIT', 0, max)) do
  redis.call('HDEL', RSV, id)
  redis.call('ZREM', GC, id)
end
-- Settles drop the old buckets of an account that is in use, with each new one. Those of all others go here.
if bucket_at(now) > number('tb') then drop_before(bucket_at(now)) end
return done(reaped)
