#!lua flags=no-writes
-- Which records are missing, or are not what was written.
--
--   KEYS     records
--   ARGV     for each the SHA-1 of what was written
--   Replies  {index of a record that differs, ...}, from 1 on

local differing = {}
for i = 1, #KEYS do
  local sealed = redis.pcall('GET', KEYS[i])
  if type(sealed) ~= 'string' or redis.sha1hex(sealed) ~= ARGV[i] then differing[#differing + 1] = i end
end
return differing
