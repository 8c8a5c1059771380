-- Sends prepared requests in turn, and prints the results as one line of JSON.
-- wrk -s load.lua URL -- FILE: raw HTTP/1.1 requests, separated by NUL.
local requests, at = {}, 0

function init(args)
  local file = assert(io.open(args[1], 'rb'))
  for text in file:read('*a'):gmatch('[^%z]+') do
    requests[#requests + 1] = text
  end
  file:close()
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"microseconds":%d,"p50":%.3f,"p99":%.3f,"status":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d}\n',
    summary.requests, summary.duration, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    errors.status, errors.connect, errors.read, errors.write, errors.timeout))
end
