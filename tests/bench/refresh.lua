-- Exchanges refresh tokens: each response has the token of a later request.
-- wrk -s refresh.lua URL -- FILE TOKENS: a raw HTTP/1.1 request with the placeholder `????????????`, and a token a line.
dofile(debug.getinfo(1, 'S').source:match('^@(.*/)') .. 'summary.lua')

local before, after
local tokens, first, last = {}, 1, 0
local isVerified = false

function init(args)
  local file = assert(io.open(args[1], 'rb'))
  before, after = file:read('*a'):match('^(.-)%?%?%?%?%?%?%?%?%?%?%?%?(.*)$')
  file:close()
  for token in io.lines(args[2]) do
    last = last + 1
    tokens[last] = token
  end
end

function request()
  local token = tokens[first]
  -- wrk asks once before it sends anything.
  if not isVerified then
    isVerified = true
    return before .. token .. after
  end
  tokens[first] = nil
  first = first + 1
  return before .. token .. after
end

function response(status, headers, body)
  last = last + 1
  tokens[last] = body:match('"refresh_token":"(%w+)"') or '000000000000'
end
