-- Credits and corrections of one account; included by ledger/open, topup and adjust, after ledger/account. They do what
-- store/ledger/credits.ts does.
--
--   KEYS[1]  bal  hash: see ledger/account
--   KEYS[2]  crd  hash: credit id = "<sub>|<amount>"; adjust:<id> = "" of a correction
--   KEYS[3]  led  stream: see ledger/account
--
-- The previous version kept credits in bal, as c:<credit id>, and did not count cr. During a rollout its controller may lead
-- once more, so a credit is written to both.

local CRD, LED = KEYS[2], KEYS[3]

-- Whether a later leader was at work here. A command that changes something sets ep.
local function is_fenced(epoch)
  return epoch < number('ep')
end

local function adopt(id, credit)
  if redis.call('HSETNX', CRD, id, credit) == 0 then return end
  local sub, amount = string.match(credit, '^([^|]*)|(%-?%d+)$')
  if amount then add('cr', sub, tonumber(amount)) end
end

-- Takes over an account of the previous version.
local function migrate()
  if field('cr') then return end
  set('cr', 0)
  local all = redis.call('HGETALL', BAL)
  for i = 1, #all, 2 do
    local id = string.match(all[i], '^c:(.*)$')
    if id then adopt(id, all[i + 1]) end
  end
end

local function is_countable(sub, posted, credited)
  return countable('p', sub, posted) == posted and countable('cr', sub, credited) == credited
end
