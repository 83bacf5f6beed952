#!lua
-- Makes a candidate the leader for a while if there is none, or if it leads already.
--
--   KEYS     1 leader
--   ARGV     1 the candidate, 2 for how many ms
--   Replies  who leads now

local leader = redis.call('GET', KEYS[1])
if leader and leader ~= ARGV[1] then return leader end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]
