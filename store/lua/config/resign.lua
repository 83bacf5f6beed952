#!lua
-- Ends the leadership of a candidate; does nothing if another one leads.
--
--   KEYS     1 leader
--   ARGV     1 the candidate
--   Replies  'OK'

if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 'OK'
