"""The Lua scripts. Each is atomic, and validates before its first write.

Redis does not roll back, so the first write of a script is one that a full server rejects.

A world has four keys with one hash tag, so that they are in one slot of a cluster:

state        hash: `clock`, the setting of the clock, empty at first; `epoch`, which is there with
             the records, and changes with them except where a project is created
projects     list: each project as a JSON array
index        set: `id ID` and `name NAME` of each project
deployments  hash by id: each deployment as a JSON array

Those of a named world expire a day after their last use. A main world, whose name is empty or ends
with `/`, does not expire.
"""

DAY = 24 * 60 * 60  # seconds
MINUTE = 60
LEAST_IDLE = 2 * MINUTE  # without a use that the TTL tells: a read may not have renewed it


def keys_of(world: str) -> list[str]:
    names = ("state", "projects", "index", "deployments")
    return [f"{{project-stub:{world}}}:{name}" for name in names]


def name_of(state: bytes) -> bytes:
    """The world of a key of a state."""
    return state.removeprefix(b"{project-stub:").removesuffix(b"}:state")


# Precedes each script that uses a world. It is called after the last write of the script: a full
# server checks only the first write, and EXPIRE passes that check. A server that takes no writes
# is still read. To save writes, a read renews a world once a minute.
RENEW = rf"""
local function renew(is_new)
  if KEYS[1]:find('[:/]}}:state$') then return end
  if not is_new and redis.call('TTL', KEYS[1]) > {DAY - MINUTE} then return end
  for _, key in ipairs(KEYS) do redis.pcall('EXPIRE', key, {DAY}) end
end
"""

# Precedes CREATE, LIST, GET and ALL. ARGV: the setting of the caller's clock, and its time. A reply
# starts with a word: `ok`, what prevents the call (`taken`, `full`), or why it must be repeated:
# `absent` (the world has no records), `clock` (the setting is another one), `ids` (one is in use).
PRELUDE = (
    RENEW
    + r"""
local state, projects, index, deployments = unpack(KEYS)
local call, now = redis.call, ARGV[2]
local clock, epoch = unpack(call('HMGET', state, 'clock', 'epoch'))
if (clock or '') ~= ARGV[1] then return {'clock', clock} end
if not epoch then return {'absent'} end
"""
)

# ARGV: maximum, name, JSON, timeline, the new ids of the project and of its deployment, which are
# empty at first: they are drawn where nothing else prevents the project; whether a name in use is
# rejected, else empty
CREATE = r"""
local max, name, sent, timeline, id, latest, unique = tonumber(ARGV[3]), unpack(ARGV, 4, 9)
local reason
if unique ~= '' and call('SISMEMBER', index, 'name ' .. name) == 1 then reason = 'taken'
elseif call('LLEN', projects) >= max then reason = 'full' end
if reason then
  renew()
  return {reason}
end
local is_id_used = call('SISMEMBER', index, 'id ' .. id)
local is_latest_used = call('HEXISTS', deployments, latest)
if id == '' or is_id_used + is_latest_used > 0 then return {'ids', is_id_used, is_latest_used} end
local project = cjson.encode({id, name, now, latest, sent})
local deployment = cjson.encode({latest, id, now}):sub(1, -2) .. ', ' .. timeline .. ']'
call('HSET', deployments, latest, deployment)
call('SADD', index, 'id ' .. id, 'name ' .. name)
call('RPUSH', projects, project)
renew(true)
return {'ok', project}
"""

# ARGV: the epoch and the number of the projects that the caller has, and the last of them, which is
# no longer there if Redis was started anew with older records
LIST = r"""
local start = 0
if epoch == ARGV[3] and call('LINDEX', projects, ARGV[4] - 1) == ARGV[5] then
  start = tonumber(ARGV[4])
end
local listed = call('LRANGE', projects, start, -1)
renew()
return {'ok', epoch, start, listed}
"""

GET = r"""
local deployment = call('HGET', deployments, ARGV[3])
renew()
return {'ok', deployment}
"""

ALL = r"""
local listed, all = call('LRANGE', projects, 0, -1), call('HVALS', deployments)
renew()
return {'ok', now, epoch, listed, all}
"""

# ARGV: the epoch and number of projects that the world must have (`*` for any, which resets the
# clock; an empty epoch where it is absent), the new epoch, the values for the projects, the index
# and the deployments as JSON lists
WRITE = (
    RENEW
    + r"""
local state, projects, index, deployments = unpack(KEYS)
local call = redis.call
local clock, epoch = unpack(call('HMGET', state, 'clock', 'epoch'))
if ARGV[1] == '*' then
  clock = ''
elseif (epoch or '') ~= ARGV[1] or call('LLEN', projects) ~= tonumber(ARGV[2]) then
  return 0
end
call('HSET', state, 'clock', clock or '', 'epoch', ARGV[3])
call('UNLINK', projects, index, deployments)
for at, command in ipairs({'RPUSH', 'SADD', 'HSET'}) do
  local values = cjson.decode(ARGV[3 + at])
  for first = 1, #values, 1000 do
    call(command, KEYS[1 + at], unpack(values, first, math.min(first + 999, #values)))
  end
end
renew(true)
return 1
"""
)

# ARGV: the setting that the clock must have, the new one
SET_CLOCK = (
    RENEW
    + r"""
if (redis.call('HGET', KEYS[1], 'clock') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'clock', ARGV[2])
renew(true)
return 1
"""
)

# ARGV: seconds, at least LEAST_IDLE. Removes the records of a world that nobody has used for so
# long, to a minute. One that does not expire is of version 1.0.0.
FREE = rf"""
local left = redis.call('TTL', KEYS[1])
if left < 0 or {DAY} - left >= tonumber(ARGV[1]) then redis.call('UNLINK', unpack(KEYS)) end
"""
