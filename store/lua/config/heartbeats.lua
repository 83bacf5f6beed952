#!lua flags=no-writes
-- Reads all heartbeats.
--
--   KEYS     1 proxies
--   ARGV     none
--   Replies  {the server's clock in ms, {proxy, '<ms of the heartbeat> <epoch> <generation>', ...}}, and
--            '<proxy> troubles', '<ms of the heartbeat> <JSON>' for proxies with failing channels

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
return { now, redis.call('HGETALL', KEYS[1]) }
