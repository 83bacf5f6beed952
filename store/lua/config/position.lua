#!lua flags=no-writes
-- Reads the stored epoch and generation.
--
--   KEYS     1 epoch, 2 manifest
--   ARGV     none
--   Replies  {epoch, generation of the newest publication}, '0' for a missing one

return { redis.call('GET', KEYS[1]) or '0', redis.call('HGET', KEYS[2], 'generation') or '0' }
