#!lua flags=allow-oom
-- Corrects what was credited and spent, once per id.
--
--   KEYS     bal crd led: see ledger/credits
--   ARGV     1 epoch, 2 id, 3 expected number of entries or '', 4 last entry that a restore counts or '', 5 budgets, each
--            "id|change of spent|end of the period|end of the next one" with a blank before it, then for each change four: sub-account or '' (each once), change of credited, change of posted, note of the entry
--   Replies  'OK' | 'DUP' | 'CHANGED': there is another number of entries | 'LIMIT' | 'FENCED' | 'NOACCT'
--!include ledger/account
--!include ledger/order
--!include ledger/budgets
--!include ledger/credits

local id = ARGV[2]
load_fields({ 'p', 'cr', 'ep', 'n' })
if not field('p') then return 'NOACCT' end
local epoch = tonumber(ARGV[1])
if is_fenced(epoch) then return 'FENCED' end
migrate()
if redis.call('HEXISTS', CRD, 'adjust:' .. id) == 1 then return done('DUP') end
if ARGV[3] ~= '' and tonumber(ARGV[3]) ~= number('n') then return done('CHANGED') end
for at = 6, #ARGV, 4 do
  if not is_countable(ARGV[at], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 1])) then return done('LIMIT') end
end

redis.call('HSET', CRD, 'adjust:' .. id, '')
set('ep', epoch)
for at = 6, #ARGV, 4 do
  local sub, credited, posted = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  add('p', sub, posted)
  add('cr', sub, credited)
  append(LED, 'adjust', id, sub, posted, ARGV[at + 3])
end
for of, spent, ends, after in string.gmatch(ARGV[5], ' ([^| ]+)|(%-?%d+)|(%d+)|(%d+)') do
  budgets().adjust(of, tonumber(spent), tonumber(ends), tonumber(after), now_ms())
end
if ARGV[4] ~= '' then raise('ra', ARGV[4]) end
return done('OK')
