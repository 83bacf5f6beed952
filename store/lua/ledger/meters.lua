-- Meters of rate limits; included after ledger/account. They do what store/ledger/meters.ts does. Fields of BAL: t:<meter> is
-- "empty at|limit", in microseconds of 16 digits, with the limit by which it was filled; r:<meter> the number of live holds.
-- Each request of a key with limits runs this, so fields are written without the tables of ledger/account.

-- With what one request fills, this is not beyond ENDLESS.
local ENDLESS_LEVEL = ENDLESS - 1e15

-- How full a meter over time is: microseconds until it is empty. A changed limit keeps what was used of it.
local function level_of(stored, most, now_us)
  if not stored then return 0 end
  local level, filled_by = string.sub(stored, 1, 16) - now_us, string.sub(stored, 18)
  if level < 0 then return 0 end
  if filled_by == most then return level end
  return math.min(math.floor((level * filled_by) / most), ENDLESS_LEVEL)
end

-- Fills a meter over time up to `level`.
local function fill_meter(name, level, most, now_us)
  local at, empty_at = #changes, now_us + level
  if empty_at < 0 then empty_at = 0 end
  if empty_at > ENDLESS then empty_at = ENDLESS end
  changes[at + 1], changes[at + 2] = name, string.format('%016d|%s', empty_at, most)
end

-- The meters of a request are four arguments each, from `first` on: the field, by how much the request fills it, how full it
-- may be before, the limit ('' for live holds). Returns how full each is, the one that has no room for the longest time
-- (counted from 0), and for how long in ms; without the last two if all have room.
local function read_meters(first, now)
  local levels, full, wait = {}, nil, nil
  for at = first, #ARGV, 4 do
    local stored, most = fields[ARGV[at]], ARGV[at + 3]
    local level = most == '' and tonumber(stored or 0) or level_of(stored, most, now * 1000)
    local i, over = #levels + 1, level - ARGV[at + 2]
    levels[i] = level
    if over > 0 then
      local over_ms = most == '' and 1000 or math.ceil(over / 1000)
      if not wait or over_ms > wait then
        full, wait = i - 1, over_ms
      end
    end
  end
  return levels, full, wait
end

-- Fills the meters of a request, and raises `levels` with them. A meter of live holds is raised with the hold.
local function fill_meters(first, levels, now)
  for i = 1, #levels do
    local at = first + 4 * i - 4
    local level, most = levels[i] + ARGV[at + 1], ARGV[at + 3]
    levels[i] = level
    if most ~= '' then fill_meter(ARGV[at], level, most, now * 1000) end
  end
end

-- Adds how full each meter is to a reply.
local function add_levels(reply, levels)
  for i = 1, #levels do
    reply[#reply + 1] = levels[i]
  end
  return reply
end
