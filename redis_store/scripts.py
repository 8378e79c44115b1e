"""The Lua scripts. Each is atomic, and validates before its first write.

Redis does not roll back, so the first write of a script is one that a full server rejects.

A world has four keys with one hash tag, so that they are in one slot of a cluster:

state        hash: `clock`, the setting of the clock, empty at first; `epoch`, which is there with
             the records, and changes with them except where a project is created; `changed`, the
             time of the last change
projects     list: each project as text
index        hash: the fields `id ID` and `name NAME` of each project
deployments  hash by id: each deployment as text
"""

KEYS = ("state", "projects", "index", "deployments")

# Precedes CREATE, LIST, GET and ALL. ARGV[1] has the caller's time, the time a second later, and
# the setting of its clock (`*` for any); times are texts of one length. A reply starts with a word:
# `ok`, what prevents the call (`taken`, `full`), or why it must be repeated: `absent` (the world
# has no records), `clock` (the setting is another one), `ids` (some are in use).
PRELUDE = r"""
local state, projects, index, deployments = unpack(KEYS)
local call = redis.call
local now, limit, setting = string.match(ARGV[1], '^(%S+) (%S+) (.*)$')
local clock, epoch, changed = unpack(call('HMGET', state, 'clock', 'epoch', 'changed'))
if setting ~= '*' and setting ~= (clock or '') then return {'clock', clock or ''} end
if not epoch then return {'absent'} end
if changed and now < changed and changed < limit then now = changed end
"""

# ARGV: maximum, name, JSON, timeline, the new ids of the project and of its deployment. Replies
# which ids are in use.
CREATE = r"""
local max, name, sent, timeline, id, latest = tonumber(ARGV[2]), unpack(ARGV, 3, 7)
if call('HEXISTS', index, 'name ' .. name) == 1 then return {'taken'} end
if call('LLEN', projects) >= max then return {'full'} end
local used = {'ids'}
if id == '' or call('HEXISTS', index, 'id ' .. id) == 1 then table.insert(used, 'prj') end
if latest == '' or call('HEXISTS', deployments, latest) == 1 then table.insert(used, 'dpl') end
if #used > 1 then return used end
call('HSET', state, 'changed', now)
call('HSET', deployments, latest, table.concat({id, latest, now, timeline}, '\n'))
call('HSET', index, 'id ' .. id, '', 'name ' .. name, '')
call('RPUSH', projects, table.concat({latest, id, now, name, sent}, '\n'))
return {'ok', now}
"""

# ARGV: the epoch and the number of the projects that the caller has, and the last of them, which is
# no longer there if Redis was started anew with older records
LIST = r"""
local start = 0
if epoch == ARGV[2] and call('LINDEX', projects, ARGV[3] - 1) == ARGV[4] then
  start = tonumber(ARGV[3])
end
return {'ok', epoch, start, call('LRANGE', projects, start, -1)}
"""

GET = r"""
return {'ok', call('HGET', deployments, ARGV[2])}
"""

ALL = r"""
return {'ok', now, epoch, call('LRANGE', projects, 0, -1), call('HVALS', deployments)}
"""

# KEYS: the four. ARGV: the epoch and number of projects that the world must have (`*` for any,
# which resets the clock; an empty epoch where it is absent), the new epoch, the time; the number of
# values for the projects, the index and the deployments; these values
WRITE = r"""
local call = redis.call
local clock, epoch = unpack(call('HMGET', KEYS[1], 'clock', 'epoch'))
if ARGV[1] == '*' then
  clock = ''
elseif (epoch or '') ~= ARGV[1] or call('LLEN', KEYS[2]) ~= tonumber(ARGV[2]) then
  return 0
end
call('HSET', KEYS[1], 'clock', clock or '', 'epoch', ARGV[3], 'changed', ARGV[4])
call('UNLINK', KEYS[2], KEYS[3], KEYS[4])
local first = 8
for each, command in ipairs({'RPUSH', 'HSET', 'HSET'}) do
  local last = first + ARGV[4 + each] - 1
  for at = first, last, 1000 do
    call(command, KEYS[1 + each], unpack(ARGV, at, math.min(at + 999, last)))
  end
  first = last + 1
end
return 1
"""

# KEYS: the state. ARGV: the setting that the clock must have, the new one
SET_CLOCK = r"""
if (redis.call('HGET', KEYS[1], 'clock') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'clock', ARGV[2])
return 1
"""
