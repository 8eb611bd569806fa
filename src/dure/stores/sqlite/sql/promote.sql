-- Makes due jobs ready, each at its own position of the two parallel lists; by the primary key.
-- Materialized, so that SQLite joins the lists by an index of its own instead of by nested scans.
with i as materialized (select key, value from json_each(:ids)),
     p as materialized (select key, value from json_each(:positions))
update dure_live set state = 0, ready = true, due = null, reason = null, pos = a.pos
from (select i.value as id, p.value as pos from i join p on p.key = i.key) a
where dure_live.id = a.id and state = 2
returning stream
