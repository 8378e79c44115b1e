-- Creates projects, each with a name of its own: wrk -s create.lua URL -- SALT STEP
-- Every STEP-th request is a create, the rest are lists.
local count = 0

function init(args)
  salt, step = args[1], tonumber(args[2])
  wrk.headers["Content-Type"] = "application/json"
end

function request()
  count = count + 1
  if count % step ~= 0 then return wrk.format("GET") end
  return wrk.format("POST", nil, nil, string.format('{"name": "%s-%d"}', salt, count))
end
