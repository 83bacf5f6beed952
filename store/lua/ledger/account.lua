-- The sums of one account, read once and written once by each script. Included first by all scripts of the ledger:
--
--   BAL  hash: p posted, h held, cr credited; p:<sub>, h:<sub>, cr:<sub> of sub-accounts; cl '1' while no hold may be
--        taken; n number of entries, le the last entry; x end of the earliest lease or one before it; tb number of the newest bucket of tombstones; sb by how many ms
--        the clock was set back between a reserve and its entry, at most; ep epoch; ra last entry that a restore counted; j
--        mark of the journal; tr entries with an older id may be gone; t:<meter>, r:<meter> see ledger/meters; b:<budget> see
--        ledger/budgets
--   LED  stream: entries, with the fields k r s d n
--
-- Amounts in replies are text: a client may round integers next to 2^53. Lua's numbers are doubles, exact for integers up to
-- 2^53 - 1, and Redis takes integral numbers as arguments as they are; `+ 0` turns -0 into 0. An account exists if BAL has p.

local BAL = KEYS[1]
local MOST = 9007199254740991
-- Beyond any time: see store/ledger/meters.ts.
local ENDLESS = 9e15

-- An integer in digits. tostring would write 1e+15.
local function text(n)
  return string.format('%d', n)
end

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Fields of BAL that were read, and the changes: name, value, name, value.
local fields, changes = {}, {}

local function load_fields(names)
  local values = redis.call('HMGET', BAL, unpack(names))
  for i = 1, #names do
    fields[names[i]] = values[i]
  end
end

-- The value of a field; false if there is none.
local function field(name)
  if fields[name] == nil then fields[name] = redis.call('HGET', BAL, name) end
  return fields[name]
end

local function number(name)
  return tonumber(field(name) or 0)
end

local places = {}
local function set(name, value)
  fields[name] = value
  local at = places[name]
  if not at then
    at = #changes + 1
    places[name], changes[at] = at, name
  end
  changes[at + 1] = value
end

-- Writes the changes, and passes on the reply of the script. In parts: unpack fails beyond about 8,000 values.
local function done(reply)
  for from = 1, #changes, 4000 do
    redis.call('HSET', BAL, unpack(changes, from, math.min(from + 3999, #changes)))
  end
  return reply
end

-- A field of a sub-account, or (sub '') of the account itself.
local function name_of(sum, sub)
  if sub == '' then return sum end
  return sum .. ':' .. sub
end

local function add(sum, sub, by)
  if by == 0 then return end
  local name = name_of(sum, sub)
  set(name, number(name) + by + 0)
end

-- The part of `by` that keeps one sum within the safe integers.
local function countable(sum, sub, by)
  local now = number(name_of(sum, sub))
  return math.min(math.max(by, -MOST - now), MOST - now)
end

-- Appends an entry; returns its id.
local function append(stream, kind, ref, sub, delta, note)
  local id = redis.call('XADD', stream, '*', 'k', kind, 'r', ref, 's', sub, 'd', delta + 0, 'n', note)
  set('n', number('n') + 1)
  set('le', id)
  return id
end
