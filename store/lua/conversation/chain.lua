#!lua flags=no-writes
-- Walks a chain from its newest exchange to the first. The keys differ only in the digest at their end, so that all are
-- in the same slot.
--
--   KEYS     1 the newest exchange
--   ARGV     1 maximum number of exchanges
--   Replies  digests, newest first; nil if an exchange is missing, if there are more, or if the chain is a loop

local prefix, digest = string.match(KEYS[1], '^(.*:)(%x+)$')
local most = tonumber(ARGV[1])
local chain, seen = {}, {}
while digest ~= '' do
  if #chain >= most or seen[digest] then return false end
  -- "<digest of its parent, or nothing> <envelope>". A key of another type was not written by us.
  local head = redis.pcall('GETRANGE', prefix .. digest, '0', '64')
  local parent = type(head) == 'string' and string.match(head, '^(%x*) ')
  if not parent then return false end
  chain[#chain + 1] = digest
  seen[digest] = true
  digest = parent
end
return chain
