#!lua
-- Keeps room for longer, before its texts are.
--
--   KEYS     ends bytes of the owner: see conversation/room
--   ARGV     1 ms for which the room is kept from now on, 2... digests of exchanges
--   Replies  'OK'
--!include conversation/room

local ends = text(now_ms() + tonumber(ARGV[1]))
for i = 2, #ARGV do
  -- What was given back meanwhile was removed.
  redis.call('ZADD', ENDS, 'XX', 'GT', ends, ARGV[i])
end
end_with_last()
return 'OK'
