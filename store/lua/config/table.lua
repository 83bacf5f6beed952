#!lua flags=no-writes
-- Reads the table and the newest publication.
--
--   KEYS     1 table, 2 manifest
--   ARGV     none
--   Replies  {sealed table, its note, epoch, generation of the newest publication}, nil for a missing one

-- A key of another type was not written by us.
local sealed = redis.pcall('GET', KEYS[1])
local noted = redis.call('HMGET', KEYS[2], 'table', 'epoch', 'generation')
return { type(sealed) == 'string' and sealed, noted[1], noted[2], noted[3] }
