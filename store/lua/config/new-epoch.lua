#!lua
-- Starts a term of leadership.
--
--   KEYS     1 epoch
--   ARGV     1 epoch that the new one must exceed
--   Replies  the new epoch, as text

local stored = tonumber(redis.call('GET', KEYS[1]) or '0')
local epoch = string.format('%.0f', math.max(stored, tonumber(ARGV[1])) + 1)
redis.call('SET', KEYS[1], epoch)
return epoch
