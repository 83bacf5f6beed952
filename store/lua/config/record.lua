#!lua flags=no-writes
-- Reads a record and its note.
--
--   KEYS     1 record, 2 manifest
--   ARGV     1 field of the record in the manifest
--   Replies  {sealed record, note}, nil for a missing one

-- A key of another type was not written by us.
local sealed = redis.pcall('GET', KEYS[1])
return { type(sealed) == 'string' and sealed, redis.call('HGET', KEYS[2], ARGV[1]) }
