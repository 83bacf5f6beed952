#!lua
-- Creates an account with a balance of zero, or takes over one of the previous version.
--
--   KEYS     bal crd led: see ledger/credits
--   ARGV     1 epoch, 2 '1' to create an account, 3 '1' to close it to new holds, '0' to open it again
--   Replies  'OK' | 'DUP' | 'FENCED' | 'NOACCT'
--!include ledger/account
--!include ledger/credits

load_fields({ 'p', 'cr', 'ep', 'cl' })
if not field('p') and ARGV[2] ~= '1' then return 'NOACCT' end
local epoch = tonumber(ARGV[1])
if is_fenced(epoch) then return 'FENCED' end
if (field('cl') or '0') ~= ARGV[3] then set('cl', ARGV[3]) end
if field('p') then
  migrate()
  return done('DUP')
end
set('ep', epoch)
set('p', 0)
set('h', 0)
set('cr', 0)
return done('OK')
