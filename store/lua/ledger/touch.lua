#!lua flags=allow-oom
-- Notes that accounts are in use.
--
--   KEYS     1 sorted set: accounts by the store's time of their last use, in ms
--   ARGV     the accounts
--   Replies  nothing

local KEEP_MS = 3600000

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, account in ipairs(ARGV) do
  redis.call('ZADD', KEYS[1], now, account)
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - KEEP_MS)
