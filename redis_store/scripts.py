"""The Lua scripts of `RedisStore`. Each is atomic, and validates before its first write.

`PRELUDE` precedes those of the records but `SWAP`. Redis does not roll back, so the first write of
a script is one that a full server rejects.

A world has four keys with one hash tag, so that they are in one slot of a cluster:

state        hash: `clock`, the setting of the clock, empty at first; `epoch`, which is there with
             the records, and changes with the list except where projects are added at its end;
             `last`, the time of the last change, and `changes`, the number of those that leave
             the epoch, which older records lack
projects     list: each project as text, which begins with the lines LATEST_DEPLOYMENT and ID
index        hash: the place in `projects` by `id ID`, and the same by `name NAME`
deployments  hash by id: each deployment as text, which begins with the lines PROJECT and ID

ARGV[1] has the caller's time (RFC 3339, always of one length), the time of the last change that the
caller knows of, and the clock setting for that time. A reply starts with a word: `ok`,
what prevents it (`taken`, `full`, `unknown`), or why it must be repeated, when nothing was written:
`absent` (the world has no records), `clock` (the setting is another one), `late` (a change of a
later time came first), `ids` (more candidates for new ids are needed). So times are given in the
order of the changes, unless the clock steps back.
"""

KEYS = ("state", "projects", "index", "deployments")

PRELUDE = r"""
local state, projects, index, deployments = unpack(KEYS)
local call = redis.call
local now, known, setting = string.match(ARGV[1], '^(%S+) (%S+) (.*)$')
local clock, epoch, last = unpack(call('HMGET', state, 'clock', 'epoch', 'last'))
if not epoch then return {'absent'} end
if (clock or '') ~= setting then return {'clock', clock or ''} end
local is_late = last and now < last and known ~= last
local function note_time()
  call('HSET', state, 'last', now)
  call('HINCRBY', state, 'changes', 1)
end
local function place(project) return call('HGET', index, 'id ' .. project) end
local function first_line(text) return string.match(text, '^[^\n]*') end
local function add_project(id, name, latest, rest)
  local at = call('LLEN', projects)
  call('HSET', index, 'id ' .. id, at, 'name ' .. name, at)
  call('RPUSH', projects, latest .. '\n' .. id .. '\n' .. rest)
end
local function set_deployment(id, project, rest)
  call('HSET', deployments, id, project .. '\n' .. id .. '\n' .. rest)
end
"""

# ARGV: maximum, name, rest of the project, rest of the deployment, candidates: projects' first
CREATE = r"""
local max, name, project, queued = tonumber(ARGV[2]), unpack(ARGV, 3, 5)
if is_late then return {'late', last} end
if call('HEXISTS', index, 'name ' .. name) == 1 then return {'taken'} end
if call('LLEN', projects) >= max then return {'full'} end
local half, id, latest = (#ARGV - 5) / 2, nil, nil
for at = 5 + half, 6, -1 do
  if not place(ARGV[at]) then id = ARGV[at] end
  if call('HEXISTS', deployments, ARGV[at + half]) == 0 then latest = ARGV[at + half] end
end
if not id or not latest then return {'ids'} end
note_time()
set_deployment(latest, id, queued)
add_project(id, name, latest, project)
return {'ok', {id, latest}}
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
if is_late then return {'late', last} end
local version = epoch .. ' ' .. (call('HGET', state, 'changes') or '')
return {'ok', call('LRANGE', projects, 0, -1), call('HVALS', deployments), version}
"""

# ARGV: maximum, rest of a queued deployment, numbers of projects and deployments; for each
# project id, name, latest deployment, rest; for each deployment id, project, rest; candidates
ADD = r"""
local max, queued, added, at = tonumber(ARGV[2]), ARGV[3], {}, 5
if is_late then return {'late', last} end
local first_deployment = at + 4 * ARGV[4]
local first_candidate = first_deployment + 3 * ARGV[5]
local used, candidate = {}, first_candidate
while at < first_deployment do
  local id, name, latest, rest = unpack(ARGV, at + 1, at + 4)
  at = at + 4
  if not place(id) and call('HEXISTS', index, 'name ' .. name) == 0 then
    local taken = call('HEXISTS', deployments, latest) == 1
    if taken then
      repeat
        candidate = candidate + 1
        latest = ARGV[candidate]
        if not latest then return {'ids'} end
      until call('HEXISTS', deployments, latest) == 0
      used[#used + 1] = latest
    end
    added[#added + 1] = {id, name, latest, rest, taken}
  end
end
if #added > 0 and call('LLEN', projects) + #added > max then return {'full'} end
note_time()
for _, project in ipairs(added) do
  local id, name, latest, rest, taken = unpack(project)
  if taken then set_deployment(latest, id, queued) end
  add_project(id, name, latest, rest)
end
while at < first_candidate do
  local id, project, rest = unpack(ARGV, at + 1, at + 3)
  at = at + 3
  local has_place = project == '' or place(project)
  if has_place and call('HEXISTS', deployments, id) == 0 then set_deployment(id, project, rest) end
end
return {'ok', used}
"""

# ARGV: a new epoch, the maximum of deployments; replies 0 if there are more
REMOVE_PROJECTS = r"""
if call('HLEN', deployments) > tonumber(ARGV[3]) then return {'ok', 0} end
call('HSET', state, 'epoch', ARGV[2])
local all = call('HGETALL', deployments)
call('UNLINK', projects, index, deployments)
for at = 1, #all, 2 do
  if first_line(all[at + 1]) == '' then call('HSET', deployments, all[at], all[at + 1]) end
end
return {'ok', 1}
"""

# ARGV: maximum, a new epoch, id and project (or empty), rest of the deployment, rest of one that
# is queued, candidates
PUT = r"""
local max, new_epoch, id, project, rest, queued = tonumber(ARGV[2]), unpack(ARGV, 3, 7)
if is_late then return {'late', last} end
if project ~= '' and not place(project) then return {'unknown'} end
local used, candidate = {}, 7
local function new_id()
  repeat
    candidate = candidate + 1
    local free = ARGV[candidate]
  until not free or free ~= id and call('HEXISTS', deployments, free) == 0
  used[#used + 1] = ARGV[candidate]
  return ARGV[candidate]
end
local function row(of) return call('LINDEX', projects, place(of)) end
local function set_latest(of, latest)
  local text = row(of)
  call('LSET', projects, place(of), latest .. string.sub(text, #first_line(text) + 1))
  call('HSET', state, 'epoch', new_epoch)
end
if id == '' then id = new_id() end
if not id then return {'ids'} end
local old = call('HGET', deployments, id)
local old_owner = old and first_line(old) or ''
local owner = project ~= '' and project or old_owner
local loses = old_owner ~= owner and old_owner ~= '' and first_line(row(old_owner)) == id
local room = max + call('LLEN', projects) - call('HLEN', deployments)
if (not old or loses) and room <= 0 then return {'full'} end
local next_latest = loses and new_id()
if loses and not next_latest then return {'ids'} end
note_time()
set_deployment(id, owner, rest)
if project ~= '' then set_latest(project, id) end
if loses then
  set_deployment(next_latest, old_owner, queued)
  set_latest(old_owner, next_latest)
end
return {'ok', used, id, owner, old and 0 or 1}
"""

# KEYS: the state. ARGV: the setting that the clock must have, the new one
SET_CLOCK = r"""
if (redis.call('HGET', KEYS[1], 'clock') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'clock', ARGV[2])
return 1
"""

# KEYS: the four, then those of new records in place of all but the first. ARGV: `new` (only if the
# world is absent, and its clock has the setting), `change` (only if the world has the version, and
# its clock the setting) or `replace`, a new epoch, the numbers of projects and of deployments, the
# setting, the time, the version
SWAP = r"""
local call = redis.call
local count, deployments = tonumber(ARGV[3]), tonumber(ARGV[4])
if call('LLEN', KEYS[5]) ~= count or call('HLEN', KEYS[6]) ~= 2 * count
    or call('HLEN', KEYS[7]) ~= deployments then return {'lost'} end
local clock, epoch, changes = unpack(call('HMGET', KEYS[1], 'clock', 'epoch', 'changes'))
local version = epoch and epoch .. ' ' .. (changes or '') or ''
if ARGV[1] == 'replace' then
  clock = ''
elseif version ~= ARGV[7] or (clock or '') ~= ARGV[5] then
  call('UNLINK', unpack(KEYS, 5))
  return version ~= ARGV[7] and {'changed'} or {'clock', clock or ''}
end
call('HSET', KEYS[1], 'clock', clock or '', 'epoch', ARGV[2], 'last', ARGV[6])
for at = 2, 4 do
  call('UNLINK', KEYS[at])
  if call('EXISTS', KEYS[at + 3]) == 1 then
    call('RENAME', KEYS[at + 3], KEYS[at])
    call('PERSIST', KEYS[at])
  end
end
return {'ok'}
"""
