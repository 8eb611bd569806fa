-- Makes due jobs ready, each at its own position of the two parallel lists; by the primary key.
update dure_live l set state = 0, ready = true, due = null, reason = null, pos = a.pos
from unnest(cast(:ids as bigint[]), cast(:positions as bigint[])) as a (id, pos)
where l.id = a.id and l.state = 2
returning l.stream
