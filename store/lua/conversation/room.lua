-- Functions for an owner's room, included by its scripts. The room counts the bytes of texts in other slots, each from
-- before it is written until after it is gone:
--
--   KEYS[1]  ends   sorted set: digest of an exchange by the time when its bytes are freed, in ms
--   KEYS[2]  bytes  hash: digest of an exchange = bytes of its text; sum = all of them

local ENDS, BYTES = KEYS[1], KEYS[2]

-- An integer in digits. tostring would write 1e+15.
local function text(n)
  return string.format('%.0f', n)
end

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function free(digests)
  if #digests == 0 then return end
  local freed = 0
  for _, bytes in ipairs(redis.call('HMGET', BYTES, unpack(digests))) do
    freed = freed + (tonumber(bytes) or 0)
  end
  redis.call('ZREM', ENDS, unpack(digests))
  redis.call('HDEL', BYTES, unpack(digests))
  redis.call('HINCRBY', BYTES, 'sum', text(0 - freed))
end

-- Lets the room expire with the last exchange in it.
local function expire_with_last()
  local last = redis.call('ZRANGE', ENDS, '0', '0', 'REV', 'WITHSCORES')[2]
  if not last then return end
  redis.call('PEXPIREAT', ENDS, text(tonumber(last)))
  redis.call('PEXPIREAT', BYTES, text(tonumber(last)))
end
