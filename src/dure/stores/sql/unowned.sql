-- Running jobs whose worker has no row; scans the ready jobs.
select id, fence, attempt, stream, (stream >> 2) & 16383 as kind_id, worker, batch, key, subject,
  epoch
from dure_live
where ready and state = 1 and not exists (
  select 1 from dure_worker w where w.id = dure_live.worker)
limit :most
