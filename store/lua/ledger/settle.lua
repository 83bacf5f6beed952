#!lua flags=allow-oom
-- Posts the real cost and releases the hold.
--
--   KEYS     bal rsv exp gc led of the account: see ledger/common
--   ARGV     1 to 3 as in ledger/common; 4 request id, 5 sub-account or '', 6 real cost, 7 reserved at, in ms,
--            8 reason, 9 model, 10 channel, 11 key id, 12 tokens as JSON
--   Replies  'OK' | 'DUP' | 'CONFLICT' | 'LATE': posted after expiry | 'LOST': posted although the (young) hold is unknown
--            | 'STALE': unknown and too old, not posted | 'NOACCT'
--!include ledger/common

if not account_known() then return 'NOACCT' end
local id, sub, actual, reserved_at = ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local note = { 'reason', ARGV[8], 'model', ARGV[9], 'channel', ARGV[10], 'key', ARGV[11], 'tok', ARGV[12] }
local now = now_ms()
collect_due(now, AT_ONCE)

local hold = read_hold(id)
if not hold then
  if now - reserved_at > KEEP_MS then return 'STALE' end
  charge('lost', id, sub, actual, note)
  entomb(id, { amount = 0, seen = 0, actual = actual, reserved_at = reserved_at, sub = sub }, 'L', now)
  return 'LOST'
end
if hold.sub ~= sub then return 'CONFLICT' end
if hold.state == 'P' then
  release(id, hold)
  charge('settle', id, sub, actual, note)
  hold.actual = actual
  entomb(id, hold, actual == 0 and 'V' or 'S', now)
  return 'OK'
end
if hold.state == 'E' then
  charge('late', id, sub, actual - hold.seen, note)
  hold.actual = actual
  entomb(id, hold, 'L', now)
  return 'LATE'
end
return hold.actual == actual and 'DUP' or 'CONFLICT'
