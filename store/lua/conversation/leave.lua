#!lua flags=allow-oom
-- Frees the room of a text that was removed.
--
--   KEYS     ends bytes of the owner: see conversation/room
--   ARGV     1 digest of the exchange
--   Replies  'OK'
--!include conversation/room

if redis.call('HEXISTS', BYTES, ARGV[1]) == 1 then free({ ARGV[1] }) end
return 'OK'
