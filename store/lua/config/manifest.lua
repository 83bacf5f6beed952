#!lua flags=no-writes
-- All that tells what is stored.
--
--   KEYS     1 epoch, 2 manifest, 3 table
--   ARGV     none
--   Replies  {epoch or '0', {field, value, field, value, ...} of the manifest, sealed table or nil}

return { redis.call('GET', KEYS[1]) or '0', redis.call('HGETALL', KEYS[2]), redis.call('GET', KEYS[3]) }
