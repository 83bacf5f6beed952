#!lua
-- Appends lines to the request log and drops the oldest beyond its length.
--
--   KEYS     the log
--   ARGV     1 lines that the log keeps, about; 2... lines
--   Replies  'OK'

for i = 2, #ARGV do
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'line', ARGV[i])
end
return 'OK'
