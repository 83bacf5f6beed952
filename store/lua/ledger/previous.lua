-- Holds of proxies of the previous version, which run beside this one during a rollout; included by ledger/reap.
--
--   KEYS[8]  exp  sorted set: ids of their live holds by the end of the lease, in ms
--
-- Their holds are "state|requested|amount|seen|actual|reserved at|sub|key|model" in rsv; only the model may contain a bar.
-- Their tombstones are in rsv too, and their ids in gc.

local PREVIOUS = '^(%u)|(%d*)|(%d+)|(%d+)|(%d*)|(%-?%d+)|([^|]*)|([^|]*)|(.*)$'

local function expire_previous(now, max, reaped)
  for _, id in ipairs(redis.call('ZRANGE', KEYS[8], '-inf', text(now), 'BYSCORE', 'LIMIT', 0, max)) do
    redis.call('ZREM', KEYS[8], id)
    local stored = redis.call('HGET', RSV, id)
    local state, requested, amount, seen, _, at, sub, key, model = string.match(stored or '', PREVIOUS)
    if state == 'P' then
      add_to_both('h', sub, 0 - tonumber(amount))
      charge('expire', id, sub, tonumber(seen), cjson.encode({ 'checkpoint', model, '', key }), '', now)
      redis.call('HSET', RSV, id, table.concat({ 'E', requested, amount, seen, '', at, sub, '', '' }, '|'))
      redis.call('ZADD', GC, math.max(now, tonumber(at)) + KEEP_MS, id)
      reaped[#reaped + 1] = id
      reaped[#reaped + 1] = seen
    end
  end
end
