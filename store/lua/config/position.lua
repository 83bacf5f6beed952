#!lua flags=no-writes
-- What is stored now.
--
--   KEYS     1 epoch, 2 manifest
--   ARGV     none
--   Replies  {epoch, generation of the newest publication}, '0' for what is not there

return { redis.call('GET', KEYS[1]) or '0', redis.call('HGET', KEYS[2], 'generation') or '0' }
