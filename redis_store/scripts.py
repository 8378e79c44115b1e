"""The Lua scripts. Each is atomic, and validates before its first write.

Redis does not roll back, so the first write of a script is one that a full server rejects.

A world has four keys with one hash tag, so that they are in one slot of a cluster:

state        hash: `clock`, the setting of the clock, empty at first; `epoch`, which is there with
             the records, and changes with them except where a project is created; `changed`, the
             time of the last change
projects     list: each project as text
index        set: `id ID` and `name NAME` of each project
deployments  hash by id: each deployment as text
"""


def keys_of(world: str) -> list[str]:
    names = ("state", "projects", "index", "deployments")
    return [f"{{project-stub:{world}}}:{name}" for name in names]


# Precedes CREATE, LIST, GET and ALL. ARGV: the setting of the caller's clock, its time, and the
# time a second later; times are texts of one length. A reply starts with a word: `ok`, what
# prevents the call (`taken`, `full`), or why it must be repeated: `absent` (the world has no
# records), `clock` (the setting is another one), `ids` (some are in use).
PRELUDE = r"""
local state, projects, index, deployments = unpack(KEYS)
local call, now = redis.call, ARGV[2]
local clock, epoch, changed = unpack(call('HMGET', state, 'clock', 'epoch', 'changed'))
if (clock or '') ~= ARGV[1] then return {'clock', clock or ''} end
if not epoch then return {'absent'} end
if changed and now < changed and changed < ARGV[3] then now = changed end
"""

# ARGV: maximum, name, JSON, timeline, the new ids of the project and of its deployment. Replies
# which ids are in use, or the project.
CREATE = r"""
local max, name, sent, timeline, id, latest = tonumber(ARGV[4]), unpack(ARGV, 5, 9)
if call('SISMEMBER', index, 'name ' .. name) == 1 then return {'taken'} end
if call('LLEN', projects) >= max then return {'full'} end
local used = {'ids'}
if id == '' or call('SISMEMBER', index, 'id ' .. id) == 1 then table.insert(used, 'prj') end
if latest == '' or call('HEXISTS', deployments, latest) == 1 then table.insert(used, 'dpl') end
if #used > 1 then return used end
local project = table.concat({latest, id, now, name, sent}, '\n')
call('HSET', state, 'changed', now)
call('HSET', deployments, latest, table.concat({id, latest, now, timeline}, '\n'))
call('SADD', index, 'id ' .. id, 'name ' .. name)
call('RPUSH', projects, project)
return {'ok', project}
"""

# ARGV: the epoch and the number of the projects that the caller has, and the last of them, which is
# no longer there if Redis was started anew with older records
LIST = r"""
local start = 0
if epoch == ARGV[4] and call('LINDEX', projects, ARGV[5] - 1) == ARGV[6] then
  start = tonumber(ARGV[5])
end
return {'ok', epoch, start, call('LRANGE', projects, start, -1)}
"""

GET = "return {'ok', call('HGET', deployments, ARGV[4])}"

ALL = "return {'ok', now, epoch, call('LRANGE', projects, 0, -1), call('HVALS', deployments)}"

# ARGV: the epoch and number of projects that the world must have (`*` for any, which resets the
# clock; an empty epoch where it is absent), the new epoch, the time, the values for the
# projects, the index and the deployments as JSON lists
WRITE = r"""
local state, projects, index, deployments = unpack(KEYS)
local call = redis.call
local clock, epoch = unpack(call('HMGET', state, 'clock', 'epoch'))
if ARGV[1] == '*' then
  clock = ''
elseif (epoch or '') ~= ARGV[1] or call('LLEN', projects) ~= tonumber(ARGV[2]) then
  return 0
end
call('HSET', state, 'clock', clock or '', 'epoch', ARGV[3], 'changed', ARGV[4])
call('UNLINK', projects, index, deployments)
for at, command in ipairs({'RPUSH', 'SADD', 'HSET'}) do
  local values = cjson.decode(ARGV[4 + at])
  for first = 1, #values, 1000 do
    call(command, KEYS[1 + at], unpack(values, first, math.min(first + 999, #values)))
  end
end
return 1
"""

# ARGV: the setting that the clock must have, the new one
SET_CLOCK = r"""
if (redis.call('HGET', KEYS[1], 'clock') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'clock', ARGV[2])
return 1
"""
