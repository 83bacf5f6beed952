#!lua
-- Takes room for a text that is about to be written, if there is enough.
--
--   KEYS     ends bytes of the owner: see conversation/room
--   ARGV     1 digest of the exchange, 2 its bytes, 3 bytes that the owner may have, 4 ms for which the room is taken,
--            5 maximum number of expired exchanges to free now
--   Replies  'OK' | 'FULL': nothing is taken | 'AGAIN': more have expired, whose room may suffice
--!include conversation/room

local digest, bytes, most, at_once = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[5])
local now = now_ms()
local ended = redis.call('ZRANGE', ENDS, '-inf', text(now), 'BYSCORE', 'LIMIT', '0', text(at_once))
free(ended)

-- Size of the text that this one replaces.
local before = tonumber(redis.call('HGET', BYTES, digest) or '0')
local sum = tonumber(redis.call('HGET', BYTES, 'sum') or '0')
if sum - before + bytes > most then
  return #ended == at_once and 'AGAIN' or 'FULL'
end
redis.call('HSET', BYTES, digest, text(bytes))
redis.call('HINCRBY', BYTES, 'sum', text(bytes - before))
redis.call('ZADD', ENDS, 'GT', text(now + tonumber(ARGV[4])), digest)
expire_with_last()
return 'OK'
