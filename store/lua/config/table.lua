#!lua flags=no-writes
-- The table, and the publication that it is in force under.
--
--   KEYS     1 table, 2 manifest
--   ARGV     none
--   Replies  {sealed table, note of it, epoch, generation of the newest publication}, nil for what is not there

-- Something that is no string is not ours.
local sealed = redis.pcall('GET', KEYS[1])
local noted = redis.call('HMGET', KEYS[2], 'table', 'epoch', 'generation')
return { type(sealed) == 'string' and sealed, noted[1], noted[2], noted[3] }
