#!lua flags=allow-oom
-- Expires holds whose lease has ended, and removes tombstones whose time is over.
--
--   KEYS     bal rsv exp gc led of the account: see ledger/common
--   ARGV     1 to 3 as in ledger/common; 4 maximum number of holds, 5 of tombstones
--   Replies  {id, charged, id, charged, ...}: the expired holds, earliest first
--!include ledger/common

local now = now_ms()
local reaped = expire_due(now, tonumber(ARGV[4]))
collect_due(now, tonumber(ARGV[5]))
return reaped
