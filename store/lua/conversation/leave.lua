#!lua flags=allow-oom
-- Gives back the room of a text that is gone.
--
--   KEYS     ends bytes of the owner: see conversation/room
--   ARGV     1 digest of the exchange
--   Replies  'OK'
--!include conversation/room

if redis.call('HEXISTS', BYTES, ARGV[1]) == 1 then give_back({ ARGV[1] }) end
return 'OK'
