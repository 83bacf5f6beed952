#!lua flags=no-writes
-- A record, and what was noted when it was written.
--
--   KEYS     1 record, 2 manifest
--   ARGV     1 field of the record in the manifest
--   Replies  {sealed record, note}, nil for what is not there

-- Something that is no string is not ours.
local sealed = redis.pcall('GET', KEYS[1])
return { type(sealed) == 'string' and sealed, redis.call('HGET', KEYS[2], ARGV[1]) }
