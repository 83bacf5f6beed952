-- Meters of rate limits; included after ledger/holds. They do what store/ledger/meters.ts does. Fields of BAL: l:<meter> is
-- "level|at|empty from": the level at a time in ms; r:<meter> the number of live holds.

-- Meters are four arguments each, from `first` on: id, limit, window in ms (0: live holds), what the request takes. For a
-- settle, by how much to raise the level. Only a run that has meters calls this: to make its functions costs as much as a
-- command.
local function open_meters(first)
  local TOLERANCE, RUNNING_WAIT_MS = 1e-6, 1000
  local meters = {}
  for at = first, #ARGV, 4 do
    meters[#meters + 1] = {
      id = ARGV[at],
      most = tonumber(ARGV[at + 1]),
      window = tonumber(ARGV[at + 2]),
      takes = tonumber(ARGV[at + 3]),
    }
  end

  local function level_of(meter, now)
    if meter.window == 0 then return number('r:' .. meter.id) end
    local level, at = string.match(field('l:' .. meter.id) or '', '^([^|]+)|(%d+)|')
    if not level then return 0 end
    return math.max(0, tonumber(level) - (math.max(0, now - tonumber(at)) * meter.most) / meter.window)
  end

  local function set_level(meter, level, now)
    local empty = now + math.ceil(level * meter.window / meter.most)
    set('l:' .. meter.id, string.format('%.17g|%.0f|%.0f', level, now, empty))
  end

  local opened = {}

  -- Adds the fields of the meters to `names`.
  function opened.add_fields(names)
    for _, meter in ipairs(meters) do
      names[#names + 1] = (meter.window == 0 and 'r:' or 'l:') .. meter.id
    end
  end

  -- Room in each meter, as one text.
  function opened.room(now)
    local room = {}
    for i, meter in ipairs(meters) do
      room[i] = text(math.max(0, math.floor(meter.most - level_of(meter, now) + TOLERANCE)))
    end
    return table.concat(room, ' ')
  end

  -- The meter that has no room for the longest time (counted from 0), and for how long in ms; nil if all have room.
  function opened.full(now)
    local full, longest
    for i, meter in ipairs(meters) do
      local over = level_of(meter, now) + math.min(meter.takes, meter.most) - meter.most
      if over > TOLERANCE then
        local wait = meter.window == 0 and RUNNING_WAIT_MS or math.ceil((over * meter.window) / meter.most)
        if not longest or wait > longest then
          full, longest = i - 1, wait
        end
      end
    end
    return full, longest
  end

  function opened.take(now)
    for _, meter in ipairs(meters) do
      if meter.window ~= 0 then set_level(meter, level_of(meter, now) + meter.takes, now) end
    end
  end

  function opened.correct(now)
    for _, meter in ipairs(meters) do
      set_level(meter, math.max(0, level_of(meter, now) + meter.takes), now)
    end
  end

  return opened
end
