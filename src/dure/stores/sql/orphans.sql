-- Running jobs of one worker; scans the ready jobs.
select id, fence, attempt, stream, (stream >> 2) & 16383 as kind_id, worker, batch, key, subject,
  epoch
from dure_live where ready and state = 1 and worker = :worker limit :most
