#!lua flags=allow-oom
-- Posts the real cost and releases the hold.
--
--   KEYS     bal rsv tmb tmb tmb led gc: see ledger/holds
--   ARGV     1 request id, 2 sub-account or '', 3 real cost, 4 reserved at, in ms, 5 note of the entry, 6 the entry of the
--            first settle, if this is a repetition, or '', 7 '1' if no entry closes this id, 8 its budgets: see ledger/budgets; from
--            9 on for each meter over time its field, by how much to fill it more, and the limit
--   Replies  {'OK' or 'LATE' or 'LOST' or 'DUP', entry} | {'DUP'}: a restore has counted it | {'CONFLICT'} | {'NOACCT'}
--            | {'OLD', sb}: unknown, and so old that its tombstone may be gone; its entry may be `sb` ms older than the hold
--!include ledger/account
--!include ledger/order
--!include ledger/budgets
--!include ledger/holds
--!include ledger/meters

local id, sub, actual, reserved_at, note = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
budgets_given = ARGV[8]
local stored = redis.call('HGET', RSV, id)
local live = stored and parse_live(stored)
local of_budgets = live and live.budgets or budgets_given ~= '' and budgets().ids() or ''

local names = { 'p', 'h', 'n', 'tb' }
if sub ~= '' then
  names[5], names[6] = 'p:' .. sub, 'h:' .. sub
end
for at = 9, #ARGV, 3 do
  names[#names + 1] = ARGV[at]
end
for meter in string.gmatch(live and live.running or '', '[^,]+') do
  names[#names + 1] = 'r:' .. meter
end
if of_budgets ~= '' then budgets().add_fields(names, of_budgets) end
load_fields(names)
if not field('p') then return { 'NOACCT' } end
-- Most settles need no time: it costs a command.
local now = (of_budgets ~= '' or not stored) and now_ms()

-- A restore has counted the cost of this request.
local counted = ARGV[6] ~= '' and field('ra') and not earlier(field('ra'), ARGV[6])

-- Takes back what an expiry charged once more.
local function take_back(charged)
  if charged > 0 then charge('late', id, sub, 0 - charged, note, of_budgets, now) end
  return done({ 'DUP' })
end

-- Replaces what the request was admitted with by what it took in fact, at `entry_ms`, the time of its entry.
local function correct(entry_ms)
  local now_us = entry_ms * 1000
  for at = 9, #ARGV, 3 do
    local name, most = ARGV[at], ARGV[at + 2]
    fill_meter(name, level_of(fields[name], most, now_us) + ARGV[at + 1], most, now_us)
  end
end

if stored then
  if live then
    if live.sub ~= sub then return { 'CONFLICT' } end
    remove(id, live, now)
    if counted then return take_back(live.paid or 0) end
    local entry = charge(live.paid and 'late' or 'settle', id, sub, actual - (live.paid or 0), note, of_budgets, now)
    correct(entomb(id, sub, actual, entry, reserved_at))
    return done({ live.paid and 'LATE' or 'OK', entry })
  end
  local charged, of = parse_expired(stored)
  if of ~= sub then return { 'CONFLICT' } end
  redis.call('HDEL', RSV, id)
  redis.call('ZREM', GC, id)
  if counted then return take_back(charged) end
  local entry = charge('late', id, sub, actual - charged, note, of_budgets, now)
  correct(entomb(id, sub, actual, entry, reserved_at))
  return done({ 'LATE', entry })
end

local settled = tombstone(id, now, false)
if settled then
  local cost, entry = string.match(settled, '^(.*)@(%d+%-%d+)$')
  if (cost or settled) ~= cost_text(actual, sub) then return { 'CONFLICT' } end
  return { 'DUP', entry }
end

if counted then return { 'DUP' } end
local set_back = number('sb')
if ARGV[7] ~= '1' and now - reserved_at > KEEP_MS - set_back then return { 'OLD', text(set_back) } end
local entry = charge('lost', id, sub, actual, note, of_budgets, now)
entomb(id, sub, actual, entry, reserved_at)
return done({ 'LOST', entry })
