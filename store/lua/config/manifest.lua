#!lua flags=no-writes
-- Reads the manifest.
--
--   KEYS     1 epoch, 2 manifest
--   ARGV     none
--   Replies  {epoch or '0', {field, value, field, value, ...} of the manifest}

return { redis.call('GET', KEYS[1]) or '0', redis.call('HGETALL', KEYS[2]) }
