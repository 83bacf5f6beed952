-- Meters of rate limits; included after ledger/holds. They do what store/ledger/meters.ts does. Fields of BAL: t:<meter> is
-- "empty at|limit", in microseconds, with the limit by which it was filled; r:<meter> the number of live holds.

-- How full a meter over time is: microseconds until it is empty. A changed limit keeps what was used of it.
local function fill_at(stored, most, now_us)
  if not stored then return 0 end
  local empty_at, filled_by = string.match(stored, '^(%d+)|(%d+)$')
  local level = math.max(0, empty_at - now_us)
  if filled_by == most then return level end
  return math.floor((level * filled_by) / most)
end

-- Meters are four arguments each, from `first` on: the field, by how much the request fills it, how full it may be, the
-- limit. Only a run that has meters calls this: to make its functions costs as much as a command. Call `read` before the others, once the
-- fields are loaded.
local function open_meters(first)
  local RUNNING_WAIT_MS, min = 1000, math.min
  local fills, levels, count = {}, {}, 0
  local function is_running(name)
    return string.byte(name) == 114 -- "r"
  end

  return {
    -- Adds the fields of the meters to `names`.
    add_fields = function(names)
      for at = first, #ARGV, 4 do
        count = count + 1
        fills[count] = tonumber(ARGV[at + 1])
        names[#names + 1] = ARGV[at]
      end
    end,

    -- How full each meter is: microseconds until it is empty, or live holds.
    read = function(now)
      for i = 1, count do
        local name = ARGV[first + 4 * i - 4]
        local stored = field(name)
        levels[i] = is_running(name) and tonumber(stored or 0) or fill_at(stored, ARGV[first + 4 * i - 1], now * 1000)
      end
    end,

    -- The meter that has no room for the longest time (counted from 0), and for how long in ms; nil if all have room.
    full = function()
      local full, longest
      for i = 1, count do
        local bound = tonumber(ARGV[first + 4 * i - 2])
        local over = levels[i] + min(fills[i], bound) - bound
        if over > 0 then
          local wait = is_running(ARGV[first + 4 * i - 4]) and RUNNING_WAIT_MS or math.ceil(over / 1000)
          if not longest or wait > longest then
            full, longest = i - 1, wait
          end
        end
      end
      return full, longest
    end,

    -- Fills the meters. That of live holds is raised with the hold.
    raise = function(now)
      for i = 1, count do
        local name = ARGV[first + 4 * i - 4]
        levels[i] = levels[i] + fills[i]
        if not is_running(name) then
          set(name, text(min(now * 1000 + levels[i], ENDLESS)) .. '|' .. ARGV[first + 4 * i - 1])
        end
      end
    end,

    -- Adds how full each meter is to a reply.
    add_levels = function(reply)
      for i = 1, count do
        reply[#reply + 1] = min(levels[i], ENDLESS)
      end
      return reply
    end,
  }
end
