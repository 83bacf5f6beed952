#!lua
-- Extends the life of room, before that of its texts is extended.
--
--   KEYS     ends bytes of the owner: see conversation/room
--   ARGV     1 ms for which the room is kept from now on, 2... digests of exchanges
--   Replies  'OK'
--!include conversation/room

local ends = text(now_ms() + tonumber(ARGV[1]))
for i = 2, #ARGV do
  -- XX: room that was freed in the meantime stays freed.
  redis.call('ZADD', ENDS, 'XX', 'GT', ends, ARGV[i])
end
expire_with_last()
return 'OK'
