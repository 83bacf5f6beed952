#!lua flags=no-writes
-- Checks whether the stored table is the one written last.
--
--   KEYS     1 table, 2 manifest
--   ARGV     none
--   Replies  1 or 0

local sealed = redis.pcall('GET', KEYS[1])
local note = redis.call('HGET', KEYS[2], 'table')
if not note then return sealed and 0 or 1 end
if type(sealed) ~= 'string' then return 0 end
return redis.sha1hex(sealed) == string.match(note, '%S*$') and 1 or 0
