-- Writes the standing of lanes that this transaction has locked.
update dure_lane l set version = n.version, failures = n.failures,
  disabled_at = n.disabled_at, disabled_until = n.disabled_until
from unnest(cast(:ids as bigint[]), cast(:versions as bigint[]), cast(:failures as integer[]),
            cast(:disabled_at as double precision[]), cast(:disabled_until as double precision[]))
  as n (id, version, failures, disabled_at, disabled_until)
where l.id = n.id
