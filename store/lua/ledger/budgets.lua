-- Budgets; included after ledger/account. They do what store/ledger/budgets.ts does. Field of BAL: b:<budget> is
-- "spent|held|end of the period|end of the next one".

-- `given`: budgets of a command with blanks between them, each "id|most|beginnings of three periods". Only a run that has
-- budgets calls this: to make its functions costs as much as a command.
local function open_budgets(given)
  local named, periods = {}, {}
  for id, most, first, second, third in string.gmatch(given, '([^| ]+)|(%d+)|(%d+)|(%d+)|(%d+)') do
    named[#named + 1] = { id = id, most = tonumber(most) }
    periods[id] = { tonumber(first), tonumber(second), tonumber(third) }
  end

  -- The end of the period at `now` and that of the next one, from two ends that may be over.
  local function ends_after(ends, after, now)
    local length = after - ends
    if now < ends or length <= 0 then return ends, after end
    local passed = math.floor((now - ends) / length) + 1
    return ends + passed * length, after + passed * length
  end

  local function ends_of(begins, now)
    if now < begins[1] then return begins[1], begins[2] end
    return ends_after(begins[2], begins[3], now)
  end

  -- The sums of the period at `now`.
  local function sums_at(id, now, begins)
    local spent, held, ends, after = string.match(field('b:' .. id) or '0|0|0|0', '^(%d+)|(%d+)|(%d+)|(%d+)$')
    local sums = { spent = tonumber(spent), held = tonumber(held), ends = tonumber(ends), after = tonumber(after) }
    if now >= sums.ends then sums.spent = 0 end
    if begins then
      sums.ends, sums.after = ends_of(begins, now)
    else
      sums.ends, sums.after = ends_after(sums.ends, sums.after, now)
    end
    return sums
  end

  local function put(id, sums)
    set('b:' .. id, string.format('%d|%d|%d|%d', sums.spent, sums.held, sums.ends, sums.after))
  end

  -- A sum is never below zero, nor beyond the safe integers.
  local function countable_sum(sum)
    return math.min(math.max(0, sum), MOST)
  end

  return {
    -- Ids of the budgets of the command, with commas.
    ids = function()
      local ids = {}
      for i, budget in ipairs(named) do
        ids[i] = budget.id
      end
      return table.concat(ids, ',')
    end,

    -- Adds the fields of budgets to `names`.
    add_fields = function(names, ids)
      for id in string.gmatch(ids, '[^,]+') do
        names[#names + 1] = 'b:' .. id
      end
    end,

    -- The budget (counted from 0) that does not cover an amount, and why; nil if all do.
    short = function(amount, now)
      local short
      for i, budget in ipairs(named) do
        local sums = sums_at(budget.id, now, periods[budget.id])
        if sums.spent >= budget.most then return i - 1, 'empty' end
        if not short and budget.most - sums.spent - sums.held < amount then short = i - 1 end
      end
      return short, short and 'hold'
    end,

    -- Adds what is spent in each budget to a reply, and lowers its third value to what is left in the fullest.
    add_left = function(reply, now)
      for _, budget in ipairs(named) do
        local sums = sums_at(budget.id, now, periods[budget.id])
        reply[3] = math.min(reply[3], budget.most - sums.spent - sums.held)
        reply[#reply + 1] = text(sums.spent)
      end
    end,

    -- `by_command`: for a request of the command, so that it knows the periods.
    hold = function(ids, amount, now, by_command)
      for id in string.gmatch(ids, '[^,]+') do
        local sums = sums_at(id, now, by_command and periods[id])
        sums.held = countable_sum(sums.held + amount)
        put(id, sums)
      end
    end,

    charge = function(ids, amount, now, by_command)
      for id in string.gmatch(ids, '[^,]+') do
        local sums = sums_at(id, now, by_command and periods[id])
        sums.spent = countable_sum(sums.spent + amount)
        put(id, sums)
      end
    end,

    -- Raises what was spent in a period that is not over.
    adjust = function(id, spent, ends, after, now)
      local sums = sums_at(id, now)
      if now >= ends then return end
      put(id, { spent = countable_sum(sums.spent + spent), held = sums.held, ends = ends, after = after })
    end,
  }
end

-- Budgets of the command; made when first needed.
local budgets_given, budgets_opened = '', nil
local function budgets()
  budgets_opened = budgets_opened or open_budgets(budgets_given)
  return budgets_opened
end
