#!lua flags=allow-oom
-- Removes the oldest entries, and keeps the mark of the journal.
--
--   KEYS     1 bal: see ledger/account; 2 led
--   ARGV     1 last entry that has left the store, or '' without a journal, 2 age in ms below which none is removed
--   Replies  nothing
--!include ledger/account

local LED, up_to = KEYS[2], ARGV[1]

load_fields('p', 'j', 'tr')
if not field('p') then return end
if up_to ~= '' then raise('j', up_to) end
local oldest = text(math.max(0, now_ms() - tonumber(ARGV[2]))) .. '-0'
local before = up_to ~= '' and earlier(up_to, oldest) and up_to or oldest
if redis.call('XTRIM', LED, 'MINID', before) > 0 then raise('tr', before) end
done()
