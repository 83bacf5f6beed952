-- The order of entries; included after ledger/account.

-- Whether the entry `a` is older than `b`.
local function earlier(a, b)
  local a_ms, a_n = string.match(a, '^(%d+)-(%d+)$')
  local b_ms, b_n = string.match(b, '^(%d+)-(%d+)$')
  if a_ms ~= b_ms then return tonumber(a_ms) < tonumber(b_ms) end
  return tonumber(a_n) < tonumber(b_n)
end

-- Sets a field to an entry, unless it names a later one.
local function raise(name, entry)
  if not field(name) or earlier(field(name), entry) then set(name, entry) end
end
