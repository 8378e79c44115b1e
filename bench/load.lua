-- Makes the requests that are not plain GETs: wrk -s load.lua URL -- (create|reset|world) SALT
local MOST_WORLDS = 900 -- the stub has room for 1,000
local count, responses = 0, 0
local salt

local makers = {}

function makers.create()
  count = count + 1
  return wrk.format("POST", nil, nil, string.format('{"name": "%s-%d"}', salt, count))
end

function makers.reset()
  return wrk.format("POST")
end

function makers.world()
  count = count + 1
  wrk.headers["Authorization"] = "Bearer dev-token.world-" .. count
  return wrk.format("GET")
end

function stop_at_limit()
  responses = responses + 1
  if responses == MOST_WORLDS then wrk.thread:stop() end
end

function init(args)
  wrk.headers["Content-Type"] = "application/json"
  request, salt = makers[args[1]], args[2]
  if args[1] == "world" then response = stop_at_limit end
end
