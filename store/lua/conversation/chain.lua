#!lua flags=no-writes
-- Walks a chain from its newest exchange to the first. The keys of the others are in the slot of the newest one's: they
-- differ only in the digest at their end.
--
--   KEYS     1 the newest exchange
--   ARGV     1 exchanges, at most
--   Replies  digests, the newest first; nil when an exchange is missing, when there are more, and for a chain without end

local prefix, digest = string.match(KEYS[1], '^(.*:)(%x+)$')
local most = tonumber(ARGV[1])
local chain, seen = {}, {}
while digest ~= '' do
  if #chain >= most or seen[digest] then return false end
  -- "<digest of its parent, or nothing> <envelope>". Something that is no string is not ours.
  local head = redis.pcall('GETRANGE', prefix .. digest, '0', '64')
  local parent = type(head) == 'string' and string.match(head, '^(%x*) ')
  if not parent then return false end
  chain[#chain + 1] = digest
  seen[digest] = true
  digest = parent
end
return chain
