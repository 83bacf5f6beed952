#!lua flags=no-writes
-- The table, and the publication that it is in force under.
--
--   KEYS     1 table, 2 manifest
--   ARGV     none
--   Replies  {sealed table, epoch, generation of the newest publication}, nil for what is not there

local newest = redis.call('HMGET', KEYS[2], 'epoch', 'generation')
return { redis.call('GET', KEYS[1]), newest[1], newest[2] }
