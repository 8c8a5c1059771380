-- Sends prepared requests in turn.
-- wrk -s load.lua URL -- FILE: raw HTTP/1.1 requests, separated by NUL.
dofile(debug.getinfo(1, 'S').source:match('^@(.*/)') .. 'summary.lua')

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
