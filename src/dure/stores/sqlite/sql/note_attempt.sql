-- Keeps what became of an attempt that did not end in success.
insert into dure_attempt (job, fence, attempt, worker, started_at, ended_at, event, error)
select id, fence, attempt, worker, claimed_at, ?3, ?4, ?5
from dure_live where id = ?1 and fence = ?2 and state = 1
