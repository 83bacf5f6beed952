#!lua flags=no-writes
-- Finds records that are missing or are not as they were written.
--
--   KEYS     records
--   ARGV     for each record, the SHA-1 of the envelope that was written
--   Replies  {index of a record that differs, ...}, counted from 1

local differing = {}
for i = 1, #KEYS do
  local sealed = redis.pcall('GET', KEYS[i])
  if type(sealed) ~= 'string' or redis.sha1hex(sealed) ~= ARGV[i] then differing[#differing + 1] = i end
end
return differing
