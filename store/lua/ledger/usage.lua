#!lua flags=allow-oom
-- Counts requests in the usage of an account, in parts of 32 days, each kept for some days after its last one.
--
--   KEYS     1 bal: see ledger/account; its field um is the last entry that is counted. It need not exist for a count without
--            a mark
--   ARGV     1 mark before or '', 2 mark after, or '' for a count without a mark, 3 days to keep; then for each row seven: day
--            since 1970-01-01 or '' for today, id of the key, "namespace/name" of it or '', model, channel, sub-account or '',
--            counts
--   Replies  'OK' | 'MOVED': the mark is another one
--
-- Counts are "r1 c20 i5": a letter and a number each. A tag is a row whose key is '' and whose model and channel are its name and
-- value. These keys have the hash tag of the account, and are named here because they depend on the clock:
--
--   use:<part>        hash: id of a key = its "namespace/name"
--   use:<part>:<key>  hash: "day|model|channel|sub" = counts
--   tag:<part>        hash: "day|name=value" = counts

local BAL = KEYS[1]
local LETTERS = { 'r', 'e', 'c', 'u', 'i', 'k', 'w', 'l', 'o', 't', 'p', 'a', 'v', 's', 'x', 'f', 'y' }
local DAY_MS, PART_DAYS, MOST_TAGS, KEPT_DAYS = 86400000, 32, 10000, tonumber(ARGV[3])

if ARGV[2] ~= '' then
  if (redis.call('HGET', BAL, 'um') or '') ~= ARGV[1] then return 'MOVED' end
  redis.call('HSET', BAL, 'um', ARGV[2])
end

local function merge(stored, more)
  local sums, parts = {}, {}
  for _, counts in ipairs({ stored, more }) do
    for letter, count in string.gmatch(counts, '(%a)(%-?%d+)') do
      sums[letter] = (sums[letter] or 0) + tonumber(count)
    end
  end
  for _, letter in ipairs(LETTERS) do
    local sum = sums[letter]
    if sum and sum ~= 0 then parts[#parts + 1] = letter .. string.format('%.0f', sum) end
  end
  return table.concat(parts, ' ')
end

local prefix = string.sub(BAL, 1, -4)
local today = math.floor(redis.call('TIME')[1] * 1000 / DAY_MS)

-- Adds counts to a field; true if it is a new one.
local function add(hash, field, counts, part)
  local stored = redis.call('HGET', hash, field)
  redis.call('HSET', hash, field, merge(stored or '', counts))
  if stored then return false end
  redis.call('PEXPIREAT', hash, ((part + 1) * PART_DAYS + KEPT_DAYS) * DAY_MS)
  return true
end

for at = 4, #ARGV, 7 do
  local day, key, name, model, channel, sub, counts = unpack(ARGV, at, at + 6)
  if day == '' then day = today end
  local part = math.floor(day / PART_DAYS)
  if key == '' then
    local tags, tag = prefix .. 'tag:' .. part, day .. '|' .. model .. '='
    local is_kept = redis.call('HEXISTS', tags, tag .. channel) == 1 or redis.call('HLEN', tags) < MOST_TAGS
    add(tags, is_kept and tag .. channel or tag, counts, part)
  else
    local index = prefix .. 'use:' .. part
    add(index .. ':' .. key, day .. '|' .. model .. '|' .. channel .. '|' .. sub, counts, part)
    local known = redis.call('HGET', index, key)
    if not known or (name ~= '' and known ~= name) then
      redis.call('HSET', index, key, name)
      redis.call('PEXPIREAT', index, ((part + 1) * PART_DAYS + KEPT_DAYS) * DAY_MS)
    end
  end
end
return 'OK'
