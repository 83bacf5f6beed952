#!lua flags=allow-oom
-- Removes the oldest entries, keeps the mark of the journal, and forgets meters that are empty and budgets that are not used.
--
--   KEYS     1 bal: see ledger/account; 2 led
--   ARGV     1 last entry that has left the store, or '' without a journal, 2 age in ms below which none is removed
--   Replies  nothing
--!include ledger/account
--!include ledger/order

local LED, up_to = KEYS[2], ARGV[1]

load_fields({ 'p', 'j', 'tr' })
if not field('p') then return end
if up_to ~= '' then raise('j', up_to) end
local oldest = text(math.max(0, now_ms() - tonumber(ARGV[2]))) .. '-0'
local before = up_to ~= '' and earlier(up_to, oldest) and up_to or oldest
if redis.call('XTRIM', LED, 'MINID', before) > 0 then raise('tr', before) end

local function forget(pattern, is_empty)
  local cursor = '0'
  repeat
    local page = redis.call('HSCAN', BAL, cursor, 'MATCH', pattern, 'COUNT', 1000)
    for at = 1, #page[2], 2 do
      if is_empty(page[2][at + 1]) then redis.call('HDEL', BAL, page[2][at]) end
    end
    cursor = page[1]
  until cursor == '0'
end

local now = now_ms()
forget('t:*', function(stored)
  return tonumber(string.match(stored, '^%d+')) <= now * 1000
end)
forget('b:*', function(stored)
  local held, after = string.match(stored, '|(%d+)|%d+|(%d+)$')
  return held == '0' and tonumber(after) <= now
end)
forget('r:*', function(stored)
  return stored == '0'
end)
done()
