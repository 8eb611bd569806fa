-- Workers whose lease has ended; a table of few rows.
select id, name, host, pid, version, kinds, slots, state, started_at, beat_at, lease_until
from dure_worker where lease_until <= :now order by id
