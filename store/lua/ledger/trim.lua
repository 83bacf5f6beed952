#!lua flags=allow-oom
-- Removes the oldest entries, and keeps the mark of the journal.
--
--   KEYS     1 bal: see ledger/account; 2 led
--   ARGV     1 last entry that has left the store, or '' without a journal, 2 age in ms below which none is removed
--   Replies  nothing
--!include ledger/account

local LED, up_to = KEYS[2], ARGV[1]

local function parts(id)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(n)
end

local function earlier(a, b)
  local a_ms, a_n = parts(a)
  local b_ms, b_n = parts(b)
  return a_ms < b_ms or (a_ms == b_ms and a_n < b_n)
end

local function raise(name, id)
  if not field(name) or earlier(field(name), id) then set(name, id) end
end

load_fields('p', 'j', 'tr')
if not field('p') then return end
if up_to ~= '' then raise('j', up_to) end
local oldest = text(math.max(0, now_ms() - tonumber(ARGV[2]))) .. '-0'
local before = up_to ~= '' and earlier(up_to, oldest) and up_to or oldest
if redis.call('XTRIM', LED, 'MINID', before) > 0 then raise('tr', before) end
done()
