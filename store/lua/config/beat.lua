#!lua flags=allow-oom
-- Notes a heartbeat, by the clock of the server.
--
--   KEYS     1 proxies
--   ARGV     1 proxy, 2 epoch and 3 generation that it serves, 4 age in ms from which heartbeats are dropped,
--            5 its troubles with channels as JSON, or nothing
--   Replies  'OK'

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local beat = string.format('%.0f', now) .. ' ' .. ARGV[2] .. ' ' .. ARGV[3]
-- In a field of their own, which readers that do not know it pass over.
local troubles = ARGV[1] .. ' troubles'
if ARGV[5] == '' then redis.call('HDEL', KEYS[1], troubles)
else redis.call('HSET', KEYS[1], troubles, string.format('%.0f', now) .. ' ' .. ARGV[5]) end
-- Old ones are looked for when a proxy is new: that is when the hash grows.
if redis.call('HSET', KEYS[1], ARGV[1], beat) == 1 then
  local all = redis.call('HGETALL', KEYS[1])
  for i = 1, #all, 2 do
    local at = tonumber(string.match(all[i + 1], '^%d+') or '0')
    if at < now - tonumber(ARGV[4]) then redis.call('HDEL', KEYS[1], all[i]) end
  end
end
return 'OK'
