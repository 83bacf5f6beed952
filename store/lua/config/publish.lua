#!lua
-- Checks the epoch, writes a publication and announces it, all or nothing.
--
--   KEYS     1 epoch, 2 table, 3 manifest, 4 changes; from 5 on, the records to write, then those to remove
--   ARGV     1 epoch of the writer, 2 generation, 3 sealed table or '' for no change, 4 changed records (JSON, see
--            docs/redis.md), 5 minimum number of announcements to keep, 6 note of the table for the manifest, 7 number
--            of records to write; then, for each record to write, its field in the manifest, its note and the sealed
--            record, and for each record to remove, its field
--   Replies  'published' | 'fenced': the epoch is another one | 'stale': the generation is not higher
-- Numbers are only compared, never written: Lua would write 1e+15.

local EPOCH, TABLE, MANIFEST, CHANGES = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local epoch, generation, sealed = ARGV[1], ARGV[2], ARGV[3]
local FIRST_KEY, FIRST_ARG, ARGS_OF_WRITTEN = 5, 8, 3

if tonumber(epoch) ~= tonumber(redis.call('GET', EPOCH) or '0') then return 'fenced' end
local before = redis.call('HGET', MANIFEST, 'generation') or '0'
if tonumber(generation) <= tonumber(before) then return 'stale' end

if sealed ~= '' then
  redis.call('SET', TABLE, sealed)
  redis.call('HSET', MANIFEST, 'table', ARGV[6])
end
local arg = FIRST_ARG
local first_removed = FIRST_KEY + tonumber(ARGV[7])
for i = FIRST_KEY, #KEYS do
  if i < first_removed then
    redis.call('SET', KEYS[i], ARGV[arg + 2])
    redis.call('HSET', MANIFEST, ARGV[arg], ARGV[arg + 1])
    arg = arg + ARGS_OF_WRITTEN
  else
    redis.call('DEL', KEYS[i])
    redis.call('HDEL', MANIFEST, ARGV[arg])
    arg = arg + 1
  end
end
redis.call('HSET', MANIFEST, 'epoch', epoch, 'generation', generation)
redis.call('XADD', CHANGES, 'MAXLEN', '~', ARGV[5], '*',
  'epoch', epoch, 'generation', generation, 'before', before, 'touched', ARGV[4])
return 'published'
