-- Meters of rate limits; included after ledger/holds. They do what store/ledger/meters.ts does. Fields of BAL: l:<meter> is
-- "level|at|empty from": the level at a time in ms; r:<meter> the number of live holds.

-- Meters are four arguments each, from `first` on: id, limit, window in ms (0: live holds), what the request takes. For a
-- settle, by how much to raise the level. Only a run that has meters calls this: to make its functions costs as much as a
-- command. Call `read` before the others, once the fields are loaded.
local function open_meters(first)
  local TOLERANCE, RUNNING_WAIT_MS = 1e-6, 1000
  local meters, count = {}, 0
  for at = first, #ARGV, 4 do
    local window = tonumber(ARGV[at + 2])
    count = count + 1
    meters[count] = {
      field = (window == 0 and 'r:' or 'l:') .. ARGV[at],
      most = tonumber(ARGV[at + 1]),
      window = window,
      takes = tonumber(ARGV[at + 3]),
    }
  end

  local opened = {}

  -- Adds the fields of the meters to `names`.
  function opened.add_fields(names)
    for i = 1, count do
      names[#names + 1] = meters[i].field
    end
  end

  -- How full each meter is now.
  function opened.read(now)
    for i = 1, count do
      local meter = meters[i]
      local stored = field(meter.field)
      if not stored then
        meter.level = 0
      elseif meter.window == 0 then
        meter.level = tonumber(stored)
      else
        local level, at = string.match(stored, '^([^|]+)|(%d+)|')
        meter.level = math.max(0, tonumber(level) - (math.max(0, now - tonumber(at)) * meter.most) / meter.window)
      end
    end
  end

  -- Room in each meter, as one text.
  function opened.room()
    local room = {}
    for i = 1, count do
      local meter = meters[i]
      room[i] = text(math.max(0, math.floor(meter.most - meter.level + TOLERANCE)))
    end
    return table.concat(room, ' ')
  end

  -- The meter that has no room for the longest time (counted from 0), and for how long in ms; nil if all have room.
  function opened.full()
    local full, longest
    for i = 1, count do
      local meter = meters[i]
      local over = meter.level + math.min(meter.takes, meter.most) - meter.most
      if over > TOLERANCE then
        local wait = meter.window == 0 and RUNNING_WAIT_MS or math.ceil((over * meter.window) / meter.most)
        if not longest or wait > longest then
          full, longest = i - 1, wait
        end
      end
    end
    return full, longest
  end

  -- Raises the levels by what the request takes, or by what it took more. That of live holds is raised with the hold.
  function opened.raise(now)
    for i = 1, count do
      local meter = meters[i]
      if meter.window == 0 then
        meter.level = meter.level + 1
      else
        meter.level = math.max(0, meter.level + meter.takes)
        local empty = now + math.ceil(meter.level * meter.window / meter.most)
        set(meter.field, string.format('%.17g|%.0f|%.0f', meter.level, now, empty))
      end
    end
  end

  -- Replaces what requests were admitted with by what they took in fact.
  function opened.correct(now)
    opened.read(now)
    opened.raise(now)
  end

  return opened
end
