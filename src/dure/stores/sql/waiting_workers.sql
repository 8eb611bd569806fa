-- Every worker, alive or not; a table of few rows.
select id, name, host, pid, version, kinds, slots, state, started_at, beat_at, lease_until
from dure_worker
