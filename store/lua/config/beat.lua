#!lua flags=allow-oom
-- Stores a heartbeat, with the time of the server.
--
--   KEYS     1 proxies
--   ARGV     1 proxy, 2 epoch and 3 generation that it serves, 4 age in ms above which heartbeats are removed,
--            5 its failing channels as JSON, or ''
--   Replies  'OK'

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local beat = string.format('%.0f', now) .. ' ' .. ARGV[2] .. ' ' .. ARGV[3]
-- In a separate field, which older readers ignore.
local troubles = ARGV[1] .. ' troubles'
if ARGV[5] == '' then redis.call('HDEL', KEYS[1], troubles)
else redis.call('HSET', KEYS[1], troubles, string.format('%.0f', now) .. ' ' .. ARGV[5]) end
-- Old heartbeats are removed when a new proxy appears: only then does the hash grow.
if redis.call('HSET', KEYS[1], ARGV[1], beat) == 1 then
  local all = redis.call('HGETALL', KEYS[1])
  for i = 1, #all, 2 do
    local at = tonumber(string.match(all[i + 1], '^%d+') or '0')
    if at < now - tonumber(ARGV[4]) then redis.call('HDEL', KEYS[1], all[i]) end
  end
end
return 'OK'
