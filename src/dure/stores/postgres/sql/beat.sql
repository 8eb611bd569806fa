-- Renews a worker's lease; answers nothing when the worker was declared dead.
update dure_worker set beat_at = m.now, lease_until = m.now + $2
from (select coalesce($3::double precision, extract(epoch from clock_timestamp())) as now) m
where id = $1 and lease_until > m.now
returning lease_until
