-- Writes the standing of lanes; the transaction is the lock. Materialized lists are indexed
-- by SQLite itself.
with i as materialized (select key, value from json_each(:ids)),
  v as materialized (select key, value from json_each(:versions)),
  f as materialized (select key, value from json_each(:failures)),
  a as materialized (select key, value from json_each(:disabled_at)),
  u as materialized (select key, value from json_each(:disabled_until))
update dure_lane set version = n.version, failures = n.failures,
  disabled_at = n.disabled_at, disabled_until = n.disabled_until
from (select i.value as id, v.value as version, f.value as failures,
             a.value as disabled_at, u.value as disabled_until
      from i join v on v.key = i.key join f on f.key = i.key
      join a on a.key = i.key join u on u.key = i.key) n
where dure_lane.id = n.id
